"""The telegraph equation u_tt + 2 u_t = u_xx: damped waves of two frequencies, and a third one that only decays.

Truth: closed form, the modes; the slowest one is damped critically.
"""

import numpy as np
import torch

import pcpinn as pc


def exact(x, t):
    w2, w5 = np.sqrt(3), np.sqrt(24)  # sqrt(k^2 - 1) for k = 2 and 5; k = 1 is critical
    still = (1 + t) * torch.sin(x[0])
    second = (torch.cos(w2 * t) + torch.sin(w2 * t) / w2) * torch.sin(2 * x[0])
    fifth = (torch.cos(w5 * t) + torch.sin(w5 * t) / w5) * torch.sin(5 * x[0]) / 2
    return torch.exp(-t) * (still + second + fifth)


problem = pc.Problem(
    pc.Interval(0, np.pi).over(0, 4),
    density=lambda x, u: u.dt + 2 * u.value,
    flux=lambda x, u: u.grad,
    boundary={
        "left": pc.Dirichlet(0.0),
        "right": pc.Dirichlet(0.0),
        "initial": pc.Initial(
            lambda x: torch.sin(x[0]) + torch.sin(2 * x[0]) + torch.sin(5 * x[0]) / 2,
            rate=0.0,
        ),
    },
)

points = np.random.default_rng(0).uniform((0, 0), (np.pi, 4), (2000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t))
