"""Maxwell's equations in a square cavity of metal: three fields of first order, E_t = Hy_x - Hx_y, Hx_t = -E_y, Hy_t = E_x.

Truth: closed form, two modes.
"""

import numpy as np
import torch

import pcpinn as pc

PI = torch.pi


def mode(m, n, x, t):
    w = PI * (m**2 + n**2) ** 0.5
    a, b = m * PI * x[0], n * PI * x[1]
    return torch.stack(
        [
            torch.sin(a) * torch.sin(b) * torch.cos(w * t),
            -n * PI / w * torch.sin(a) * torch.cos(b) * torch.sin(w * t),
            m * PI / w * torch.cos(a) * torch.sin(b) * torch.sin(w * t),
        ]
    )


def exact(x, t):
    return mode(1, 1, x, t) + 0.5 * mode(2, 1, x, t)


problem = pc.Problem(
    pc.Rectangle((0, 0), (1, 1), name="metal").over(0, 1),
    fields=["E", "Hx", "Hy"],
    density=lambda x, E, Hx, Hy: (E.value, Hx.value, Hy.value),
    source=lambda x, E, Hx, Hy: (Hx.grad[1] - Hy.grad[0], E.grad[1], -E.grad[0]),
    boundary={
        "metal": {"E": pc.Dirichlet(0.0)},
        "initial": {
            "E": pc.Initial(lambda x: exact(x, 0 * x[0])[0]),
            "Hx": pc.Initial(0.0),
            "Hy": pc.Initial(0.0),
        },
    },
)

points = np.random.default_rng(0).random((2000, 3))
reference = pc.Reference(
    points, exact(torch.tensor(points[:, :2]).T, torch.tensor(points[:, 2])).T, components=(0, 1, 2)
)
