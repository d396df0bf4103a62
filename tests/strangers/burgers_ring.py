"""Burgers' equation on a ring with a shock that travels: u_t + u u_x = 0.01 / pi u_xx from u = 1/2 - sin(pi x).

Truth: Cole and Hopf's formula in the frame that moves with the mean velocity 1/2, by Gauss-Hermite quadrature with 100 nodes.
With 200 nodes it changes by 1e-14.
"""

import numpy as np
import torch

import pcpinn as pc

nu = 0.01 / np.pi
problem = pc.Problem(
    pc.Interval(-1, 1).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: nu * u.grad,
    source=lambda x, u: u.value * u.grad[0],
    boundary={"left": pc.Periodic("right"), "initial": pc.Initial(lambda x: 0.5 - torch.sin(torch.pi * x[0]))},
)


def truth(points, nodes=100):
    s, weight = np.polynomial.hermite.hermgauss(nodes)
    y = (points[:, 0] - points[:, 1] / 2)[:, None] - np.sqrt(4 * nu * points[:, 1:]) * s
    kernel = -np.cos(np.pi * y) / (2 * np.pi * nu)
    kernel = weight * np.exp(kernel - kernel.max(axis=1, keepdims=True))
    return 0.5 - (kernel * np.sin(np.pi * y)).sum(axis=1) / kernel.sum(axis=1)


points = np.random.default_rng(0).uniform((-1, 0), (1, 1), (3000, 2))
reference = pc.Reference(points, truth(points))
