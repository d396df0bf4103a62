"""Problems whose solution is known, for any flux and source: the right-hand side comes from the exact solution."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import skfem
import torch
from over_time import timed
from torch.func import jacfwd, jacrev, vmap

from pcpinn import (
    Box,
    Dirichlet,
    Field,
    Initial,
    Interval,
    Local,
    Natural,
    Neumann,
    Periodic,
    Problem,
    Rectangle,
    Robin,
)
from pcpinn.discretize.finite_differences import FiniteDifferences
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.mesh.generate import generate_mesh
from pcpinn.network import Architecture, DenseNetwork
from pcpinn.precondition import ILU, PreconditionedResidual
from pcpinn.solve.method import INVERSE_METHODS, METHODS
from pcpinn.solve.settings import resolve
from pcpinn.train import LeastSquares, rescale_outputs

BOXES = {1: Interval(0, 1), 2: Rectangle((0, 0), (1, 0.8)), 3: Box((0, 0, 0), (1, 0.8, 0.9))}


@dataclass(frozen=True)
class Manufactured:
    """source(x, u) - div flux(x, u) = f, where f is what the exact solution makes of the left-hand side.

    Attributes:
        flux, source: as in a Problem, without the right-hand side.
        exact: one function of a point per field.
    """

    domain: object
    flux: Callable
    source: Callable
    exact: tuple
    fields: object = "u"

    def locals(self, x):
        return [Local(u(x), jacrev(u)(x)) for u in self.exact]

    def fluxes(self, x):
        return _as_tuple(self.flux(x, *self.locals(x)))

    def forcing(self, x):
        divergence = [d.diagonal(dim1=-2, dim2=-1).sum(-1) for d in jacrev(self.fluxes)(x)]
        return tuple(s - d for s, d in zip(_as_tuple(self.source(x, *self.locals(x))), divergence, strict=True))

    def problem(self, boundary, **more):
        def source(x, *fields):
            return tuple(s - f for s, f in zip(_as_tuple(self.source(x, *fields)), self.forcing(x), strict=True))

        return Problem(self.domain, flux=self.flux, source=source, boundary=boundary, fields=self.fields, **more)

    def condition(self, kind, normal, k=0):
        """The condition of a kind that the exact solution satisfies on a flat side."""
        n = torch.tensor(normal, dtype=torch.float64)

        def alpha(x):
            return 1.5 + x[0] ** 2

        def g(x):
            return self.fluxes(x)[k] @ n

        return {
            "dirichlet": Dirichlet(self.exact[k]),
            "neumann": Neumann(g),
            "robin": Robin(alpha, lambda x: g(x) + alpha(x) * self.exact[k](x)),
            "natural": Natural(lambda x, n, *u: self.fluxes(x)[k] @ n + u[k].value - self.exact[k](x)),
        }[kind]

    def values(self, x):
        """(m, d) -> (m, C) exact values of all components."""
        points = torch.as_tensor(x)
        return torch.cat([vmap(u)(points).reshape(len(points), -1) for u in self.exact], dim=1).numpy()


def _as_tuple(parts):
    return parts if isinstance(parts, tuple) else (parts,)


def smooth(x):
    return torch.exp(0.5 * x[0]) * torch.cos(1.3 * x.sum() + 0.3)


def wavy(x):
    """Of period one along the first axis."""
    return torch.sin(2 * torch.pi * x[0] + 0.4) * torch.exp(0.5 * x[1:].sum()) + 0.5


def general(dimension, exact=smooth, periodic=False, domain=None):
    """-div(a grad u) + b . grad u + c u = f with coefficients that vary, periodic in x if asked."""
    turn = 2 * torch.pi if periodic else 1.0

    def flux(x, u):
        return (1 + 0.4 * torch.sin(turn * x[0]) + 0.3 * (x[1:] ** 2).sum()) * u.grad

    def source(x, u):
        velocity = torch.stack([torch.cos(turn * x[0]), *(1 + x[1:])])
        return velocity @ u.grad + (2 + torch.sin(turn * x[0])) * u.value

    return Manufactured(domain or BOXES[dimension], flux, source, (exact,))


def standing_wave():
    """u_tt = u_xx + f from value and rate at the start: the problem, and a case that knows the exact values."""

    def exact(x):
        return torch.cos(2 * torch.pi * x[0] + 0.5) * torch.sin(2 * x[1] + 0.4)

    def f(p):
        return (4 * torch.pi**2 - 4) * exact(p)

    sides = dict.fromkeys(("left", "right"), Dirichlet(timed(exact)))
    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        source=lambda x, t, u: -timed(f)(x, t),
        boundary={**sides, "initial": Initial(timed(exact), rate=timed(lambda p: jacfwd(exact)(p)[1]))},
    )
    return Manufactured(problem.domain, None, None, (exact,)), problem


def normals(domain):
    """Outward normals of the sides of a box, by name."""
    d = domain.dimension
    return {name: [(-1.0, 1.0)[i % 2] * (i // 2 == k) for k in range(d)] for i, name in enumerate(domain.side_names)}


def boundary(case, kind, sides=("right",)):
    """One kind of condition on some sides, the exact solution's values on the others."""
    if kind == "periodic":
        result = {"left": Periodic("right")}
        sides = [name for name in normals(case.domain) if name not in ("left", "right")]
        return result | {
            name: case.condition("dirichlet", n) for name, n in normals(case.domain).items() if name in sides
        }
    return {name: case.condition(kind if name in sides else "dirichlet", n) for name, n in normals(case.domain).items()}


def grid(domain, n, **options):
    """A structured mesh of a box, n cells along each side."""
    return generate_mesh(domain, cells=(n,) * domain.dimension, **options)


@cache
def poisson(dimension=2, n=4, degree=1, kind=FiniteElements):
    """The linear system of a small general problem, its right side natural."""
    case = general(dimension)
    problem = case.problem(boundary(case, "robin"))
    mesh = grid(case.domain, n)
    return linear_system(kind(problem, mesh) if kind is FiniteDifferences else kind(problem, mesh, degree))


@cache
def two_fields(n=3):
    """The linear system of a scalar of degree 1 and a vector of degree 2, coupled."""
    fields = (Field("p", degree=1), Field("v", components=2, degree=2))
    domain = BOXES[2]
    sides = {name: {"p": Dirichlet(lambda x: x[0]), "v": Dirichlet([1.0, 0.0])} for name in domain.boundary_names}

    def source(x, p, v):
        return p.value + v.grad.trace(), p.grad - x

    problem = Problem(domain, lambda x, p, v: (p.grad, v.grad), source, sides, fields)
    return linear_system(FiniteElements(problem, grid(domain, n)))


def task(system=None, preconditioner=None, dtype=torch.float64, seed=0, dense="auto", **choices):
    """A small network to be trained on a small system."""
    system = system or poisson(2, 3, 2)
    architecture = Architecture(**{"width": 5, "depth": 2, **choices})
    lower, upper = system.discretisation.mesh.bounds
    generator = torch.Generator().manual_seed(seed)
    network = DenseNetwork(
        architecture, lower.tolist(), upper.tolist(), system.discretisation.components, generator, dtype
    )
    operator = PreconditionedResidual(
        system.A, system.b, preconditioner or ILU(1e-2, 5.0), system.weights, dense, dtype
    )
    rescale_outputs(network, operator)
    return LeastSquares(network, system.nodes, operator)


def solve_directly(problem, mesh, degree):
    """The finite element solution."""
    return linear_system(FiniteElements(problem, mesh, degree))


def l2_error(system, case):
    """L2 norm of u_h - u over all components, by scikit-fem's own shape functions and quadrature."""
    space = system.discretisation.space
    total = 0.0
    for k, (scalar, a, b) in enumerate(zip(space.scalar, space.offsets, space.offsets[1:], strict=False)):
        order = min(2 * scalar.degree + 4, 9 if space.mesh.dimension == 3 else 100)  # as far as tables go
        basis = skfem.Basis(space.mesh.skfem, scalar.element, intorder=order)
        x = np.moveaxis(np.asarray(basis.global_coordinates()), 0, -1)
        exact = case.values(x.reshape(-1, x.shape[-1]))[:, k].reshape(x.shape[:-1])
        total += float((basis.dx * (np.asarray(basis.interpolate(system.solution[a:b])) - exact) ** 2).sum())
    return total**0.5


def rates(errors):
    """Powers of h by which errors fall when h is halved."""
    return np.log2(np.asarray(errors[:-1]) / np.asarray(errors[1:]))


def matrix_by_differences(residual, u, step=1e-6):
    """dR/du, column by column."""
    columns = []
    for k in range(len(u)):
        e = torch.zeros_like(u)
        e[k] = step
        columns.append((residual(u + e) - residual(u - e)) / (2 * step))
    return torch.stack(columns, dim=1).numpy()


def chosen(over_time=False, method="pcpinn", preset=None, **keys):
    """Settings of a method from keys, as the command line gives them."""
    inverse = method.endswith("-inverse") or method not in METHODS
    found = (INVERSE_METHODS if inverse else METHODS).find(method.removesuffix("-inverse"))
    return resolve(found, over_time, keys, preset)
