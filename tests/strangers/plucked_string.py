"""A plucked string: u_tt = u_xx, from rest, with a kink at x = 0.3 that splits into two kinks, which run and are reflected.

Truth: closed form (d'Alembert), the mean of the odd continuation of the initial values moved to the left and to the right.
"""

import numpy as np
import torch

import pcpinn as pc


def pluck(x):
    return torch.where(x < 0.3, x / 0.3, (1 - x) / 0.7)


def continued(s):
    s = torch.remainder(s + 1, 2) - 1
    return torch.sign(s) * pluck(torch.abs(s))


def exact(x, t):
    return (continued(x[0] - t) + continued(x[0] + t)) / 2


problem = pc.Problem(
    pc.Interval(0, 1).over(0, 2),
    density=lambda x, u: u.dt,
    flux=lambda x, u: u.grad,
    boundary={
        "left": pc.Dirichlet(0.0),
        "right": pc.Dirichlet(0.0),
        "initial": pc.Initial(lambda x: pluck(x[0]), rate=0.0),
    },
)

points = np.random.default_rng(0).uniform((0, 0), (1, 2), (2000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t))
