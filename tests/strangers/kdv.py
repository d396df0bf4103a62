"""Korteweg and de Vries, u_t + 6 u u_x + u_xxx = 0, with w = u_xx: a soliton on a ring.

Truth: closed form; where the ring closes, the soliton is less than 1e-6 of its height.
"""

import numpy as np
import torch

import pcpinn as pc


def exact(x, t):
    s = 1 / torch.cosh(torch.remainder(x[0] - 4 * t + 12, 20) - 10) ** 2  # starts at -2
    return torch.stack([2 * s, 8 * s - 12 * s**2])


problem = pc.Problem(
    pc.Interval(-10, 10).over(0, 1),
    fields=["u", "w"],
    density=lambda x, u, w: (u.value, None),
    flux=lambda x, u, w: (None, u.grad),
    source=lambda x, u, w: (6 * u.value * u.grad[0] + w.grad[0], w.value),
    boundary={
        "left": {"u": pc.Periodic("right"), "w": pc.Periodic("right")},
        "initial": {"u": pc.Initial(lambda x: exact(x, 0.0)[0])},
    },
)

points = np.random.default_rng(0).uniform((-10, 0), (10, 1), (3000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t).T, components=(0, 1))
