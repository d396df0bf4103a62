"""Heat in a rod whose conductivity a oscillates between 1/3 and 1: -(a u')' = 1, a = 1 / (2 + cos(20 pi x)).

Truth: closed form, by integration: a u' = c - x.
"""

import numpy as np
import torch

import pcpinn as pc

w = 20 * np.pi  # ten whole periods, so that c = 1/2 makes u = 0 at both ends


def exact(x):
    wiggle = (0.5 - x[0]) * torch.sin(w * x[0]) / w + (1 - torch.cos(w * x[0])) / w**2
    return x[0] - x[0] ** 2 + wiggle


problem = pc.Problem(
    pc.Interval(0, 1),
    flux=lambda x, u: u.grad / (2 + torch.cos(w * x[0])),
    source=lambda x, u: -1.0,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
)

points = np.random.default_rng(0).random((1000, 1))
reference = pc.Reference(points, exact(torch.tensor(points).T))
