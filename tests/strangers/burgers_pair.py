"""Burgers' system in a square at Reynolds number 100: two fields carry each other along a front.

Truth: closed form.
"""

import numpy as np
import torch

import pcpinn as pc

Re = 100.0


def exact(x, t):
    front = 0.25 / (1 + torch.exp((-4 * x[0] + 4 * x[1] - t) * Re / 32))
    return torch.stack([0.75 - front, 0.75 + front])


def wind(u, v):
    return torch.stack([u.value, v.value])


problem = pc.Problem(
    pc.Rectangle((0, 0), (1, 1), name="sides").over(0, 0.5),
    fields=["u", "v"],
    density=lambda x, u, v: (u.value, v.value),
    flux=lambda x, u, v: (u.grad / Re, v.grad / Re),
    source=lambda x, u, v: (wind(u, v) @ u.grad, wind(u, v) @ v.grad),
    boundary={
        "sides": {"u": pc.Dirichlet(lambda x, t: exact(x, t)[0]), "v": pc.Dirichlet(lambda x, t: exact(x, t)[1])},
        "initial": {
            "u": pc.Initial(lambda x: exact(x, 0 * x[0])[0]),
            "v": pc.Initial(lambda x: exact(x, 0 * x[0])[1]),
        },
    },
)

points = np.random.default_rng(0).random((2000, 3)) * [1, 1, 0.5]
reference = pc.Reference(points, exact(torch.tensor(points[:, :2]).T, torch.tensor(points[:, 2])).T, components=(0, 1))
