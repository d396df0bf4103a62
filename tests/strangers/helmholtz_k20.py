"""Helmholtz' equation at k = 20 with absorbing sides: a plane wave, as two real fields, passes through a square.

The wave a + i b has flux . n = i k (a + i b) + g on every side (impedance), where g is that of the plane wave.
Truth: closed form.
"""

import numpy as np
import torch

import pcpinn as pc

k = 20.0
direction = torch.tensor([np.cos(0.6), np.sin(0.6)])


def exact(x):
    phase = k * (direction[0] * x[0] + direction[1] * x[1])
    return torch.stack([torch.cos(phase), torch.sin(phase)])


def absorbed(x, n):
    """g of the plane wave: (i k d . n - i k) of its value, real and imaginary part."""
    a, b = exact(x)
    s = k * (direction.to(x) @ n - 1)
    return -s * b, s * a


problem = pc.Problem(
    pc.Rectangle((0, 0), (1, 1), name="sides"),
    fields=["a", "b"],
    flux=lambda x, a, b: (a.grad, b.grad),
    source=lambda x, a, b: (-(k**2) * a.value, -(k**2) * b.value),
    boundary={
        "sides": {
            "a": pc.Natural(lambda x, n, a, b: -k * b.value + absorbed(x, n)[0]),
            "b": pc.Natural(lambda x, n, a, b: k * a.value + absorbed(x, n)[1]),
        }
    },
)

points = np.random.default_rng(0).random((2000, 2))
reference = pc.Reference(points, exact(torch.tensor(points).T).T, components=(0, 1))
