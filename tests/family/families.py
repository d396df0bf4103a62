"""Small families, and their solutions by direct solves that no family code takes part in."""

import numpy as np
import torch

import pcpinn as pc
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.nonlinear import solve_newton
from pcpinn.mesh.generate import generate_mesh

SIDES = ("left", "right", "bottom", "top")
QUICK = {"cells": (6,), "degree": 3, "width": 10, "depth": 2, "samples": 24, "validation": 16, "device": "cpu"}


def line(a, k):
    """-(exp(a x) u')' + k u = 1, u(0) = 0, u' + k u = 1 at the end."""
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: torch.exp(a * x[0]) * u.grad,
        source=lambda x, u: k * u.value - 1.0,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Robin(k, 1.0)},
        name="line",
    )


def line_family(**options):
    return pc.Family(line, a=pc.Range(-1, 1), k=pc.Range(0.1, 10, log=True), **options)


def direct(problem, cells, degree=3):
    """Equation and discrete solution on a fine mesh."""
    equation = DiscreteEquation(FiniteElements(problem, generate_mesh(problem.domain, cells=cells), degree))
    return equation, solve_newton(equation)


def true_error(surrogate, family, mu, cells, degree=3):
    """Relative L2 distance from a direct solve."""
    equation, u = direct(family.at(mu), cells, degree)
    values = np.reshape(surrogate(equation.nodes.points, mu.numpy()), (len(equation.nodes.points), -1))
    v = values[equation.nodes.point_of, equation.nodes.component_of]
    return equation.norm(v - u) / equation.norm(u)


def rod(k, b):
    """u = sin(pi x) exp(-k pi^2 t) + b sin(2 pi x) exp(-4 k pi^2 t)."""
    return pc.Problem(
        pc.Interval(0, 1).over(0, 0.5),
        density=lambda x, u: u.value,
        flux=lambda x, u: k * u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0]) + b * torch.sin(2 * torch.pi * x[0])),
        },
    )
