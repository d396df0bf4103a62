"""
A column under its own weight
=============================

Linear elasticity in three dimensions, on a given mesh of quadratic elements. Truth: a polynomial. A quarter of the column is solved for.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

E, nu, g, h = 1.0, 0.3, 0.2, 2.0  # Young's modulus, Poisson's ratio, weight per volume, height
mu, lam = E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))


def exact(x):
    side, r2 = nu * (h - x[2]), x[0] ** 2 + x[1] ** 2
    return g / E * torch.stack([side * x[0], side * x[1], x[2] ** 2 / 2 - h * x[2] + nu * r2 / 2])


problem = pc.Problem(
    pc.Box((0, 0, 0), (0.5, 0.5, h)),
    fields=pc.Field("u", components=3),
    flux=lambda x, u: mu * (u.grad + u.grad.T) + lam * u.grad.trace() * torch.eye(3, dtype=x.dtype),
    source=lambda x, u: torch.tensor([0.0, 0.0, g], dtype=x.dtype),
    boundary={"bottom": pc.Dirichlet(exact), "left": pc.Dirichlet([0.0, None, None]),
              "front": pc.Dirichlet([None, 0.0, None]), **dict.fromkeys(("right", "back", "top"), pc.Neumann(0.0))},
)  # fmt: skip
solution = pc.solve(problem, accuracy=2e-2, mesh=pc.Meshing(cells=(2, 2, 6), degree=2), width=10, features="none")
points = np.random.default_rng(0).uniform((0, 0, 0), (0.5, 0.5, h), (3000, 3))
truth = exact(torch.tensor(points).T).numpy().T
error = np.linalg.norm(solution(points) - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
figure, axes = plt.subplots(figsize=(4.5, 5), layout="constrained", subplot_kw={"projection": "3d", "aspect": "equal"})
moved = (points + solution(points)).T
figure.colorbar(axes.scatter(*moved, c=solution(points)[:, 2], s=4), label="vertical displacement", shrink=0.6)
plt.show()
