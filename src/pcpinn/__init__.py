"""pcpinn: partial differential equations solved by preconditioned neural networks, with a checked error.

import pcpinn as pc

domain = pc.Rectangle((0, 0), (1, 1)) - pc.Disk((0.5, 0.5), 0.2, name="hole")
problem = pc.Problem(domain, flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
                     boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(1.0), "hole": pc.Robin(1.0, 2.0),
                               "bottom": pc.Neumann(0.0), "top": pc.Neumann(0.0)})
solution = pc.solve(problem, mesh_size=0.05)
solution([[0.1, 0.9]])
"""

from .condition.number import condition_number
from .condition.record import ConditionNumber
from .discretize.mesh import Mesh
from .discretize.meshfile import read_mesh
from .environment import package_version
from .errors import PcpinnError, PcpinnWarning
from .problem.conditions import Cauchy, Dirichlet, Free, Natural, Neumann, Open, Periodic, Pin, Robin
from .problem.field import Field, Local
from .problem.problem import Problem
from .problem.shapes import (
    Ball,
    Box,
    Cylinder,
    Disk,
    Ellipse,
    Interval,
    Polygon,
    Rectangle,
    SpaceTime,
)
from .problem.unknowns import Coefficient, Parameter
from .progress import Progress
from .solve.continuation import continuation
from .solve.inverse import infer
from .solve.inverse_settings import InverseSettings
from .solve.inverse_solution import InverseSolution, Truth
from .solve.linear import solve
from .solve.observations import Observations, read_observations
from .solve.reference import Reference
from .solve.run_folder import load
from .solve.settings import Settings
from .solve.solution import Solution

__version__ = package_version("pcpinn") or "0"

__all__ = [
    "Ball",
    "Box",
    "Cauchy",
    "Coefficient",
    "ConditionNumber",
    "Cylinder",
    "Dirichlet",
    "Disk",
    "Ellipse",
    "Field",
    "Free",
    "Interval",
    "InverseSettings",
    "InverseSolution",
    "Local",
    "Mesh",
    "Natural",
    "Neumann",
    "Observations",
    "Open",
    "Parameter",
    "PcpinnError",
    "PcpinnWarning",
    "Periodic",
    "Pin",
    "Polygon",
    "Problem",
    "Progress",
    "Rectangle",
    "Reference",
    "Robin",
    "Settings",
    "Solution",
    "SpaceTime",
    "Truth",
    "condition_number",
    "continuation",
    "infer",
    "load",
    "read_mesh",
    "read_observations",
    "solve",
]
