"""Stokes flow in a closed box, driven by a force: four fields of force and no slip on the walls.

Truth: closed form, from a stream function; the force follows from it. The pressure is 1 at the corner, which fixes its constant.
"""

import numpy as np
import torch

import pcpinn as pc

pi = torch.pi


def exact(x):
    sx, sy = torch.sin(pi * x[0]), torch.sin(pi * x[1])
    u = pi * sx**2 * torch.sin(2 * pi * x[1])
    v = -pi * sy**2 * torch.sin(2 * pi * x[0])
    p = torch.cos(pi * x[0]) * torch.cos(pi * x[1])
    return torch.stack([u, v, p])


def force(x):
    sx, sy, cx, cy = torch.sin(pi * x[0]), torch.sin(pi * x[1]), torch.cos(pi * x[0]), torch.cos(pi * x[1])
    s2x, s2y, c2x, c2y = (f(2 * pi * x[i]) for f in (torch.sin, torch.cos) for i in (0, 1))
    return torch.stack(
        [
            -2 * pi**3 * s2y * (c2x - 2 * sx**2) - pi * sx * cy,
            2 * pi**3 * s2x * (c2y - 2 * sy**2) - pi * cx * sy,
        ]
    )


problem = pc.Problem(
    pc.Rectangle((0, 0), (1, 1), name="walls"),
    fields=[pc.Field("u", components=2), pc.Field("p", lower=1)],
    flux=lambda x, u, p: (u.grad - p.value * torch.eye(2, dtype=x.dtype), None),
    source=lambda x, u, p: (-force(x), u.grad.trace()),
    boundary={"walls": {"u": pc.Dirichlet(0.0)}},
    pins=[pc.Pin(at=(0.0, 0.0), value=1.0, field="p")],
)

points = np.random.default_rng(0).random((2000, 2))
reference = pc.Reference(points, exact(torch.tensor(points).T).T, components=(0, 1, 2))
