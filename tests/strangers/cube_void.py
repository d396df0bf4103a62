"""A cube with a spherical void, Laplace's equation: values on the cube, the flux at the void.

Truth: closed form, a flow along z around the void (without flux through it) and x y, with its flux.
"""

import numpy as np
import torch

import pcpinn as pc

R = 0.4


def exact(x):
    r = torch.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    return x[2] * (1 + R**3 / (2 * r**3)) + x[0] * x[1]


domain = pc.Box((-1, -1, -1), (1, 1, 1), name="cube") - pc.Ball((0, 0, 0), R, name="void")
problem = pc.Problem(
    domain,
    flux=lambda x, u: u.grad,
    boundary={"cube": pc.Dirichlet(exact), "void": pc.Neumann(lambda x: -2 * x[0] * x[1] / R)},
)

points = np.random.default_rng(0).uniform(-1, 1, (3000, 3))
points = points[domain.contains(points)]
reference = pc.Reference(points, exact(torch.tensor(points).T))
