"""Fisher's equation u_t = 0.01 u_xx + u (1 - u): a front that travels at the speed 5 / sqrt(6) for which it has a formula.

Truth: closed form (Ablowitz and Zeppetella), whose values are given at both ends.
"""

import numpy as np
import torch

import pcpinn as pc

D = 0.01
speed = 5 / np.sqrt(6) * np.sqrt(D)


def exact(x, t):
    return (1 + torch.exp((x[0] - speed * t) / np.sqrt(6 * D))) ** -2


problem = pc.Problem(
    pc.Interval(-1, 3).over(0, 8),
    density=lambda x, u: u.value,
    flux=lambda x, u: D * u.grad,
    source=lambda x, u: -u.value * (1 - u.value),
    boundary={"left": pc.Dirichlet(exact), "right": pc.Dirichlet(exact), "initial": pc.Initial(exact)},
)

points = np.random.default_rng(0).uniform((-1, 0), (3, 8), (2000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t))
