"""Other methods on the same problems, networks and optimisers, to compare with."""

from ..recipes import import_all
from .fem_fit import solve_fem_fit
from .inverse_methods import infer_by
from .pinn import solve_pinn

import_all(__name__)  # a new file registers itself

__all__ = ["infer_by", "solve_fem_fit", "solve_pinn"]
