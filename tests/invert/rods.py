"""Small inverse problems with answers that have a formula."""

import numpy as np

import pcpinn as pc

ENDS = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}
SMALL = {"cells": (8,), "degree": 3, "width": 8, "depth": 1, "feature_count": 2, "iterations": 12, "device": "cpu"}


def bar(k):
    """-k u'' = 1: u = x (1 - x) / (2 k)."""
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: k * u.grad, source=lambda x, u: -1.0, boundary=ENDS)


def bar_data(seed, count=60, noise=0.003):
    x = np.linspace(0.05, 0.95, count)[:, None]
    u = x[:, 0] * (1 - x[:, 0]) / 4  # k = 2
    return pc.Observations(x, u + noise * np.random.default_rng(seed).normal(size=count), noise)


def rod(a):
    """-(a u')' = 1 with a = 1 + x; u is known nowhere."""
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: a(x) * u.grad,
        source=lambda x, u: -1.0,
        boundary={"left": pc.Free(), "right": pc.Free()},
        name="rod",
    )


UNKNOWN = {
    "a": pc.Coefficient(initial=1.5, low=0.1, known={"left": 1.0, "right": lambda x: 2 * x[0]}, width=8, depth=1)
}


def rod_u(x):
    return np.log(1 + x) / np.log(2) - x  # zero at both ends: a u' = 1 / log 2 - 1 - x


def rod_data(noise=1e-3):
    x = np.linspace(0, 1, 50)
    return pc.Observations(x[:, None], rod_u(x) + noise * np.random.default_rng(2).normal(size=50), noise)
