"""
A soap film
===========

The minimal surface over a square: ``div(grad u / sqrt(1 + |grad u|^2)) = 0``. The equation is nonlinear in the gradient; Newton's
method needs no derivative from you. The truth is Scherk's surface.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc


def scherk(x):
    return torch.log(torch.cos(x[0]) / torch.cos(x[1]))


problem = pc.Problem(
    pc.Rectangle((-1, -1), (1, 1), name="wire"),
    flux=lambda x, u: u.grad / torch.sqrt(1 + u.grad @ u.grad),
    boundary={"wire": pc.Dirichlet(scherk)},
)
solution = pc.solve(problem, accuracy=1e-2)

x, y = np.meshgrid(np.linspace(-1, 1, 101), np.linspace(-1, 1, 101))
points = np.stack([x.ravel(), y.ravel()], axis=1)
u, truth = solution(points), scherk(torch.tensor(points).T).numpy()
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 4.8), layout="constrained", subplot_kw={"projection": "3d"})
axes.plot_surface(x, y, u.reshape(x.shape), cmap="viridis", rstride=2, cstride=2, lw=0)
axes.set(xlabel="x", ylabel="y", title="Scherk's minimal surface")
plt.show()
