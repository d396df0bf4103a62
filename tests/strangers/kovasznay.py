"""Kovasznay's flow behind a grid: the steady Navier-Stokes equations at Reynolds number 40.

Truth: Kovasznay's closed form. The velocity is given around, the pressure at one corner.
"""

import numpy as np
import torch

import pcpinn as pc

Re = 40.0
lam = Re / 2 - np.sqrt(Re**2 / 4 + 4 * np.pi**2)


def exact(x):
    e, y = torch.exp(lam * x[0]), 2 * torch.pi * x[1]
    return torch.stack([1 - e * torch.cos(y), lam / (2 * torch.pi) * e * torch.sin(y), (1 - e**2) / 2])


corner = (1.0, -0.5)
problem = pc.Problem(
    pc.Rectangle((-0.5, -0.5), (1.0, 1.5), name="sides"),
    fields=[pc.Field("u", components=2), pc.Field("p", lower=1)],
    flux=lambda x, u, p: (u.grad / Re - p.value * torch.eye(2, dtype=x.dtype), None),
    source=lambda x, u, p: (u.grad @ u.value, u.grad.trace()),
    boundary={"sides": {"u": pc.Dirichlet(lambda x: exact(x)[:2])}},
    pins=[pc.Pin(at=corner, value=float(exact(torch.tensor(corner, dtype=torch.float64))[2]), field="p")],
)

points = np.random.default_rng(0).uniform((-0.5, -0.5), (1.0, 1.5), (2000, 2))
reference = pc.Reference(points, exact(torch.tensor(points).T).T, components=(0, 1, 2))
