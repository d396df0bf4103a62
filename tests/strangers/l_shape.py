"""Laplace's equation in an L, with the singularity of its corner: u = r^(2/3) sin(2 theta / 3), with infinite gradient there.

Truth: closed form. The angle is measured from the middle of the L, where the sine is a cosine, so that it jumps nowhere in it.
"""

import numpy as np
import torch

import pcpinn as pc


def exact(x):
    angle = torch.atan2(-x[0] - x[1], x[1] - x[0])  # from the direction (-1, 1)
    return (x[0] ** 2 + x[1] ** 2) ** (1 / 3) * torch.cos(2 * angle / 3)


domain = pc.Polygon([(0, 0), (0, -1), (-1, -1), (-1, 1), (1, 1), (1, 0)], names="sides")
problem = pc.Problem(domain, flux=lambda x, u: u.grad, boundary={"sides": pc.Dirichlet(exact)})

points = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
points = points[domain.contains(points)]
reference = pc.Reference(points, exact(torch.tensor(points).T))
