"""A bump enters on the left, crosses the interval and leaves on the right: u_t + (2 u)_x = 0.

The flux is -2 u. On the left u is given; on the right nothing is known, so that flux . n is what it is. Truth: closed form,
the value that entered at time t - x / 2.
"""

import numpy as np
import torch

import pcpinn as pc


def exact(x, t):
    return torch.exp(-(((t - x[0] / 2 - 0.35) / 0.08) ** 2))


problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: -2 * u.value.reshape(1),
    boundary={
        "left": pc.Dirichlet(exact),
        "right": pc.Natural(lambda x, n, u: -2 * u.value * n[0]),
        "initial": pc.Initial(exact),
    },
)

points = np.random.default_rng(0).random((2000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t))
