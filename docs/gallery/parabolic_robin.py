"""
A bar that loses heat through its sides
=======================================

Two dimensions and time, with a Robin condition on all sides: u_t = u_xx + u_yy, du/dn + 2 u = 0, from u = 1 everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import pcpinn as pc

problem = pc.Problem(
    pc.Rectangle((-1, -1), (1, 1), name="sides").over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: u.grad,
    boundary={"sides": pc.Robin(2.0, 0.0), "initial": pc.Initial(1.0)},
)
solution = pc.solve(problem, accuracy=1e-2)


def truth(points):  # the product of two series
    s = np.array([brentq(lambda s: s * np.sin(s) - 2 * np.cos(s), a, a + np.pi / 2) for a in np.pi * np.arange(300)])
    decay = 4 * np.sin(s) / (2 * s + np.sin(2 * s)) * np.exp(-np.outer(points[:, 2], s**2))
    return np.prod([np.sum(decay * np.cos(np.outer(points[:, i], s)), axis=1) for i in (0, 1)], axis=0)


points = np.random.default_rng(0).uniform((-1, -1, 1e-4), (1, 1, 1), (3000, 3))
error = np.linalg.norm(solution(points) - truth(points)) / np.linalg.norm(truth(points))
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
x, y = np.meshgrid(np.linspace(-1, 1, 80), np.linspace(-1, 1, 80))
for ax, t in zip(axes, (0.02, 0.1, 0.3), strict=True):
    u = solution(np.stack([x.ravel(), y.ravel(), 0 * x.ravel() + t], axis=1)).reshape(x.shape)
    drawn = ax.contourf(x, y, u, np.linspace(0, 1.02, 35), cmap="inferno")
    ax.set(title=f"t = {t}", aspect="equal")
figure.colorbar(drawn, ax=axes, label="temperature", ticks=[0, 0.25, 0.5, 0.75, 1])
plt.show()
