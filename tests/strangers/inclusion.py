"""A disk that conducts a thousand times better than the square around it, in a uniform field.

Truth: closed form, the field of a conducting cylinder (a dipole outside, constant inside); its values are given on the sides.
"""

import numpy as np
import torch

import pcpinn as pc

radius, inner = 0.5, 1000.0


def exact(x):
    r2 = x[0] ** 2 + x[1] ** 2
    outside = 1 - (inner - 1) / (inner + 1) * radius**2 / r2
    return x[0] * torch.where(r2 < radius**2, 2 / (1 + inner), outside)


problem = pc.Problem(
    pc.Rectangle((-1, -1), (1, 1), name="sides"),
    flux=lambda x, u: torch.where(x @ x < radius**2, inner, 1.0) * u.grad,
    boundary={"sides": pc.Dirichlet(exact)},
)

points = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
reference = pc.Reference(points, exact(torch.tensor(points).T))
