"""Poisson's equation in an ellipse whose axes are 2 and 0.5: -Laplace u = 4, with harmonic values on the boundary.

Truth: closed form, the torsion function of the ellipse and exp(x) cos(y).
"""

import numpy as np
import torch

import pcpinn as pc

a, b = 1.0, 0.25


def exact(x):
    bubble = 1 - x[0] ** 2 / a**2 - x[1] ** 2 / b**2
    return 2 * a**2 * b**2 / (a**2 + b**2) * bubble + torch.exp(x[0]) * torch.cos(x[1])


domain = pc.Ellipse((0, 0), (a, b))
problem = pc.Problem(
    domain,
    flux=lambda x, u: u.grad,
    source=lambda x, u: -4.0,
    boundary={"boundary": pc.Dirichlet(lambda x: torch.exp(x[0]) * torch.cos(x[1]))},
)

points = np.random.default_rng(0).uniform((-a, -b), (a, b), (2000, 2))
points = points[domain.contains(points)]
reference = pc.Reference(points, exact(torch.tensor(points).T))
