"""Other methods on the same problems, networks and optimisers, to compare with."""

from .fem_fit import solve_fem_fit
from .inverse_methods import infer_by
from .pinn import solve_pinn

__all__ = ["infer_by", "solve_fem_fit", "solve_pinn"]
