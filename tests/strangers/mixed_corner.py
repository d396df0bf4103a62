"""Laplace's equation in an L, held at one side of the inner corner and insulated at the other: u begins as the cube root of r.

Truth: closed form, r^(1/3) sin(angle / 3).
"""

import numpy as np
import torch

import pcpinn as pc

domain = pc.Polygon(
    [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)],
    names=["held", "outer", "outer", "outer", "outer", "insulated"],
)


def exact(x):
    r, angle = torch.sqrt(x[0] ** 2 + x[1] ** 2), torch.atan2(x[1], x[0])
    angle = torch.where(angle < -1e-9, angle + 2 * torch.pi, angle)
    return r ** (1 / 3) * torch.sin(angle / 3)


problem = pc.Problem(
    domain,
    flux=lambda x, u: u.grad,
    boundary={"held": pc.Dirichlet(0.0), "insulated": pc.Neumann(0.0), "outer": pc.Dirichlet(exact)},
)

points = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
points = points[domain.contains(points)]
reference = pc.Reference(points, exact(torch.tensor(points).T)[:, None])
