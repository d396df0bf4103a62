"""The plate of all examples: a heater on a plate of unknown conductivity, cooled at its sides. One network for all of them."""

import torch

import pcpinn as pc


def plate(x, y, k):
    """-div(k grad u) = a warm spot at (x, y); u = 0 left and right, heat is lost through bottom and top."""
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda p, u: k * u.grad,
        source=lambda p, u: -10 * torch.exp(-20 * ((p[0] - x) ** 2 + (p[1] - y) ** 2)),
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "bottom": pc.Robin(0.5, 0.0),
            "top": pc.Robin(2.0, 0.0),
        },
        name="plate",
    )


family = pc.Family(plate, x=pc.Range(0.2, 0.8), y=pc.Range(0.2, 0.8), k=pc.Range(0.5, 2.0))
settings = {"cells": (8, 8), "degree": 3, "width": 20, "depth": 3, "samples": 32}


def surrogate(time_limit=40.0, **choices):
    """One network for all places of the heater and all conductivities."""
    return pc.solve(family, accuracy=1e-2, time_limit=time_limit, **settings, **choices)
