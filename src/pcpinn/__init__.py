"""pcpinn: partial differential equations solved by preconditioned neural networks, with a checked error.

import pcpinn as pc

domain = pc.Rectangle((0, 0), (1, 1)) - pc.Disk((0.5, 0.5), 0.2, name="hole")
problem = pc.Problem(domain, flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
                     boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(1.0), "hole": pc.Robin(1.0, 2.0),
                               "bottom": pc.Neumann(0.0), "top": pc.Neumann(0.0)})
solution = pc.solve(problem, mesh=pc.Meshing(size=0.05, degree=3))
solution([[0.1, 0.9]])
"""

from . import baselines as baselines  # registers its methods
from .baselines.recipe import Collocation
from .condition.doctor import diagnose
from .condition.number import condition_number
from .condition.record import ConditionNumber
from .discretize.in_time import Simplices, Slabs
from .environment import package_version
from .errors import PcpinnError, PcpinnWarning
from .family.calibrate import Calibration, calibrate
from .family.estimate import QueryError
from .family.family import Family
from .family.functions import Basis, Sensors
from .family.parameters import Normal, Range
from .family.recipe import Sampled
from .family.surrogate import Surrogate
from .invert.infer import infer
from .invert.observations import Observations, read_observations
from .invert.recipe import Joint
from .invert.solution import InverseSolution
from .invert.truth import Truth
from .mesh.mesh import Mesh
from .mesh.meshing import Differences, Meshing
from .mesh.read import read_mesh
from .network.recipe import MLP
from .network.trunk_branch import TrunkBranch
from .network.trunk_solve import TrunkSolve
from .precondition import AMG, ILU, LU, AutoILU, Identity, Jacobi, RowBalancing, Schwarz, Separable, Stages, TimeOrder
from .precondition.auto_lu import AutoLU
from .problem.conditions import Dirichlet, Free, Initial, Natural, Neumann, Periodic, Pin, Robin
from .problem.field import Field, Local
from .problem.mapped import mapped
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
from .progress import Event, Progress
from .solution.load import load
from .solution.no_answer import NoAnswer
from .solution.quantity import Quantity
from .solution.reference import Reference
from .solution.solution import Solution
from .solve.certify import certify
from .solve.continuation import continuation
from .solve.linear import solve
from .solve.march.recipe import March
from .solve.quantity.ask import flux, integrate, maximum, minimum, value
from .solve.quantity.wanted import Flux, Integral
from .solve.recipes import NewtonMethod, Residual
from .trackers import TensorBoard, WeightsAndBiases
from .train import LBFGS, SOAP, Adam, GaussNewton, TorchOptimiser

__version__ = package_version("pcpinn") or "0"

__all__ = [
    "AMG",
    "ILU",
    "LBFGS",
    "LU",
    "MLP",
    "SOAP",
    "Adam",
    "AutoILU",
    "AutoLU",
    "Ball",
    "Basis",
    "Box",
    "Calibration",
    "Coefficient",
    "Collocation",
    "ConditionNumber",
    "Cylinder",
    "Differences",
    "Dirichlet",
    "Disk",
    "Ellipse",
    "Event",
    "Family",
    "Field",
    "Flux",
    "Free",
    "GaussNewton",
    "Identity",
    "Initial",
    "Integral",
    "Interval",
    "InverseSolution",
    "Jacobi",
    "Joint",
    "Local",
    "March",
    "Mesh",
    "Meshing",
    "Natural",
    "Neumann",
    "NewtonMethod",
    "NoAnswer",
    "Normal",
    "Observations",
    "Parameter",
    "PcpinnError",
    "PcpinnWarning",
    "Periodic",
    "Pin",
    "Polygon",
    "Problem",
    "Progress",
    "Quantity",
    "QueryError",
    "Range",
    "Rectangle",
    "Reference",
    "Residual",
    "Robin",
    "RowBalancing",
    "Sampled",
    "Schwarz",
    "Sensors",
    "Separable",
    "Simplices",
    "Slabs",
    "Solution",
    "SpaceTime",
    "Stages",
    "Surrogate",
    "TensorBoard",
    "TimeOrder",
    "TorchOptimiser",
    "TrunkBranch",
    "TrunkSolve",
    "Truth",
    "WeightsAndBiases",
    "calibrate",
    "certify",
    "condition_number",
    "continuation",
    "diagnose",
    "flux",
    "infer",
    "integrate",
    "load",
    "mapped",
    "maximum",
    "minimum",
    "read_mesh",
    "read_observations",
    "solve",
    "value",
]
