"""A narrow Gaussian that travels around a ring at speed 5, five times: u_t + 5 u_x = 0.

Truth: closed form, the initial values moved; the Gaussian is 3e-44 where the ring closes.
"""

import numpy as np
import torch

import pcpinn as pc


def exact(x, t):
    moved = torch.remainder(x[0] - 5 * t, 1.0)
    return torch.exp(-(((moved - 0.5) / 0.05) ** 2))


problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1),
    density=lambda x, u: u.value,
    source=lambda x, u: 5 * u.grad[0],
    boundary={"left": pc.Periodic("right"), "initial": pc.Initial(exact)},
)

points = np.random.default_rng(0).random((3000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t))
