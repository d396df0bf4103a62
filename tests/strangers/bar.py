"""A steel bar that vibrates along its axis, fixed at one end and free at the other, in SI units: metres, microseconds matter.

rho u_tt = E u_xx, length 2 m, two modes with amplitudes of 0.1 mm and 0.03 mm, for 2 ms. Truth: closed form, the modes.
"""

import numpy as np
import torch

import pcpinn as pc

E, rho, length, end = 210e9, 7850.0, 2.0, 2e-3
c = np.sqrt(E / rho)  # 5172 m/s


def exact(x, t):
    k1, k3 = torch.pi / (2 * length), 5 * torch.pi / (2 * length)
    first = 1e-4 * torch.sin(k1 * x[0]) * torch.cos(c * k1 * t)
    return first + 3e-5 * torch.sin(k3 * x[0]) * torch.cos(c * k3 * t)


problem = pc.Problem(
    pc.Interval(0, length).over(0, end),
    density=lambda x, u: rho * u.dt,
    flux=lambda x, u: E * u.grad,
    boundary={
        "left": pc.Dirichlet(0.0),
        "right": pc.Neumann(0.0),
        "initial": pc.Initial(exact, rate=0.0),
    },
)

points = np.random.default_rng(0).uniform((0, 0), (length, end), (2000, 2))
x, t = torch.tensor(points).T
reference = pc.Reference(points, exact([x], t))
