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
points = torch.tensor([0.5, 0.5, h]) * torch.rand((3000, 3), dtype=torch.float64)
error = float((solution(points).detach() - exact(points.T).T).norm() / exact(points.T).norm())
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
axes = plt.figure(figsize=(4.5, 5)).add_subplot(projection="3d", azim=45)
a, b = np.meshgrid(np.linspace(0, 1, 13), np.linspace(0, 1, 25))
for face in ((a / 2, 0.5 + 0 * a, h * b), (0.5 + 0 * a, a / 2, h * b), (a / 2, b / 2, h + 0 * a)):
    u = solution(np.stack(face, axis=-1).reshape(-1, 3)).T.reshape(3, *a.shape)
    axes.plot_surface(*(np.array(face) + u), facecolors=plt.cm.viridis(1 + u[2] / 0.4), shade=False)
axes.set(title="settled under its own weight", aspect="equal", xticks=[], yticks=[])
plt.show()
