"""A rod at temperature 1 whose ends are suddenly put into ice: initial and boundary values contradict each other.

u_t = 0.1 u_xx. Truth: the Fourier series, 2000 terms; the first left out is below 1e-15 for t > 1e-5, and no point is earlier.
"""

import numpy as np

import pcpinn as pc

problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: 0.1 * u.grad,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(1.0)},
)


def truth(points, terms=2000):
    k = np.pi * (2 * np.arange(terms) + 1)
    return np.sum(4 / k * np.sin(np.outer(points[:, 0], k)) * np.exp(-0.1 * np.outer(points[:, 1], k**2)), axis=1)


points = np.random.default_rng(0).uniform((0, 1e-5), (1, 1), (2000, 2))
reference = pc.Reference(points, truth(points))
