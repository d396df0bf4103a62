"""Klein and Gordon with a cubic term: u_tt - u_xx + u^3 = f, where u = x cos(5 pi t) + (x t)^3.

Truth: closed form; f follows from it.
"""

import numpy as np
import torch

import pcpinn as pc

w = 5 * torch.pi


def exact(x, t):
    return x[0] * torch.cos(w * t) + (x[0] * t) ** 3


def f(x, t):
    return -(w**2) * x[0] * torch.cos(w * t) + 6 * t * x[0] ** 3 - 6 * x[0] * t**3 + exact(x, t) ** 3


problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1),
    density=lambda x, u: u.dt,
    flux=lambda x, u: u.grad,
    source=lambda x, t, u: u.value**3 - f(x, t),
    boundary={
        "left": pc.Dirichlet(0.0),
        "right": pc.Dirichlet(exact),
        "initial": pc.Initial(lambda x: x[0], rate=0.0),
    },
)

points = np.random.default_rng(0).random((2000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t))
