"""Diffusion that is a thousand times weaker along y: -u_xx - 0.001 u_yy = pi^2 sin(pi x), with layers of width 0.01.

Truth: closed form. Half of the points lie in the layers, within 0.05 of the bottom and the top.
"""

import numpy as np
import torch

import pcpinn as pc

k = np.pi / np.sqrt(1e-3)


def exact(x):
    low, high = torch.exp(-k * x[1]), torch.exp(-k * (1 - x[1]))
    return torch.sin(torch.pi * x[0]) * (1 - (low + high) / (1 + np.exp(-k)))


problem = pc.Problem(
    pc.Rectangle((0, 0), (1, 1), name="sides"),
    flux=lambda x, u: torch.stack([u.grad[0], 1e-3 * u.grad[1]]),
    source=lambda x, u: -(torch.pi**2) * torch.sin(torch.pi * x[0]),
    boundary={"sides": pc.Dirichlet(0.0)},
)

points = np.random.default_rng(0).random((2000, 2))
points[:500, 1] *= 0.05
points[500:1000, 1] = 1 - 0.05 * points[500:1000, 1]
reference = pc.Reference(points, exact(torch.tensor(points).T))
