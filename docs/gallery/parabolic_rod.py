"""
A rod that cools
================

Heat in a rod with a jump: it starts at 1 everywhere, and both ends are held at 0 from the first moment on.
"""

import matplotlib.pyplot as plt
import numpy as np

import pcpinn as pc

problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: 0.1 * u.grad,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(1.0)},
)
solution = pc.solve(problem, accuracy=1e-2)


def truth(points):
    k = np.pi * np.arange(1, 800, 2)
    return np.sum(4 / k * np.sin(np.outer(points[:, 0], k)) * np.exp(-0.1 * np.outer(points[:, 1], k**2)), axis=1)


points = np.random.default_rng(0).uniform((0, 1e-4), (1, 1), (4000, 2))
error = np.linalg.norm(solution(points) - truth(points)) / np.linalg.norm(truth(points))
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
x = np.linspace(0, 1, 400)
for t in (0.01, 0.05, 0.1, 0.3, 0.6, 1.0):
    axes.plot(x, solution(np.stack([x, 0 * x + t], axis=1)), color=plt.cm.plasma(0.9 * (1 - t**0.3)), label=f"t = {t}")
axes.set(xlabel="x", ylabel="temperature", title="a rod that cools from both ends")
axes.legend()
plt.show()
