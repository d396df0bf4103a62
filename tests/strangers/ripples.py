"""Poisson's equation with ten by ten decaying ripples: u = exp(-2 x - 2 y) sin(20 pi x) sin(20 pi y).

Truth: closed form; the right-hand side follows from it.
"""

import numpy as np
import torch

import pcpinn as pc

w = 20 * torch.pi


def ripple(s):
    return torch.exp(-2 * s) * torch.sin(w * s)


def bent(s):
    return torch.exp(-2 * s) * ((4 - w**2) * torch.sin(w * s) - 4 * w * torch.cos(w * s))  # ripple''


def exact(x):
    return ripple(x[0]) * ripple(x[1])


problem = pc.Problem(
    pc.Rectangle((0, 0), (1, 1), name="sides"),
    flux=lambda x, u: u.grad,
    source=lambda x, u: bent(x[0]) * ripple(x[1]) + ripple(x[0]) * bent(x[1]),
    boundary={"sides": pc.Dirichlet(exact)},
)

points = np.random.default_rng(0).random((3000, 2))
reference = pc.Reference(points, exact(torch.tensor(points).T))
