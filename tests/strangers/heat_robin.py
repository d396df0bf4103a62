"""A hot square bar that cools on its four sides: u_t = u_xx + u_yy, u_n + 2 u = 0, from u = 1 everywhere.

The initial values do not fulfil the condition on the sides. Truth: the product of two series of 400 eigenfunctions; the
first left out is below 1e-15 for t > 2e-5, and no point is earlier.
"""

import numpy as np
from scipy.optimize import brentq

import pcpinn as pc

h = 2.0
problem = pc.Problem(
    pc.Rectangle((-1, -1), (1, 1), name="sides").over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: u.grad,
    boundary={"sides": pc.Robin(h, 0.0), "initial": pc.Initial(1.0)},
)


def truth(points, terms=400):
    n = np.arange(terms) * np.pi
    lam = np.array([brentq(lambda s: s * np.sin(s) - h * np.cos(s), a, a + np.pi / 2, xtol=1e-15) for a in n])
    c = 4 * np.sin(lam) / (2 * lam + np.sin(2 * lam))
    decay = c * np.exp(-np.outer(points[:, 2], lam**2))
    in_x, in_y = (np.sum(decay * np.cos(np.outer(points[:, i], lam)), axis=1) for i in (0, 1))
    return in_x * in_y


points = np.random.default_rng(0).uniform((-1, -1, 2e-5), (1, 1, 1), (2000, 3))
reference = pc.Reference(points, truth(points))
