"""Transport at speed 80 around a ring, u_t + 80 u_x = 0: the "convection" problem on which plain PINNs fail.

The wave passes every point almost thirteen times. Truth: closed form, u = sin(x - 80 t).
"""

import numpy as np
import torch

import pcpinn as pc


def exact(x, t):
    return torch.sin(x[0] - 80 * t)


problem = pc.Problem(
    pc.Interval(0, 2 * np.pi).over(0, 1),
    density=lambda x, u: u.value,
    source=lambda x, u: 80 * u.grad[0],
    boundary={"left": pc.Periodic("right"), "initial": pc.Initial(exact)},
)

points = np.random.default_rng(0).uniform((0, 0), (2 * np.pi, 1), (2000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t))
