"""A reaction that is fast compared with diffusion: 1e-4 u'' = u - cos(2 pi x), u = 0 at both ends, layers of width 0.01.

Truth: closed form. Half of the points lie within 0.1 of an end.
"""

import numpy as np
import torch

import pcpinn as pc

eps = 1e-2
amplitude = 1 / (1 + (2 * np.pi * eps) ** 2)


def exact(x):
    layers = (torch.exp(-x[0] / eps) + torch.exp((x[0] - 1) / eps)) / (1 + np.exp(-1 / eps))
    return amplitude * (torch.cos(2 * torch.pi * x[0]) - layers)


problem = pc.Problem(
    pc.Interval(0, 1),
    flux=lambda x, u: eps**2 * u.grad,
    source=lambda x, u: u.value - torch.cos(2 * torch.pi * x[0]),
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
)

points = (np.arange(4000)[::-1, None] + 0.5) / 4000  # even, so that means are integrals
reference = pc.Reference(points, exact(torch.tensor(points).T))
