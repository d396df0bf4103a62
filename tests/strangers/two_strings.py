"""A pulse on a string that is four times as heavy from the middle on: a part is thrown back, upside down, a part goes on slowly.

Truth: closed form (d'Alembert), before anything comes to the ends.
"""

import numpy as np
import torch

import pcpinn as pc


def pulse(s):
    return torch.exp(-60 * (s + 0.7) ** 2)


def exact(x, t):
    back, on = -1 / 3, 2 / 3  # speeds 1 and 1/2
    return torch.where(x[0] < 0, pulse(x[0] - t) + back * pulse(-x[0] - t), on * pulse(2 * x[0] - t))


problem = pc.Problem(
    pc.Interval(-1.5, 1).over(0, 1.5),
    density=lambda x, u: torch.where(x[0] < 0, 1.0, 4.0) * u.dt,
    flux=lambda x, u: u.grad,
    boundary={
        "left": pc.Dirichlet(0.0),
        "right": pc.Dirichlet(0.0),
        "initial": pc.Initial(
            lambda x: torch.where(x[0] < 0, pulse(x[0]), 0.0),
            rate=lambda x: torch.where(x[0] < 0, 120 * (x[0] + 0.7) * pulse(x[0]), 0.0),
        ),
    },
)

points = np.random.default_rng(0).uniform((-1.5, 0), (1, 1.5), (2000, 2))
reference = pc.Reference(points, exact(torch.tensor(points[:, :1]).T, torch.tensor(points[:, 1]))[:, None])
