"""
A coefficient that jumps
========================

A disk conducts ten times better than the plate around it. The circle is not a boundary of the domain: the jump is found, and the
mesh is fitted to it.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

radius, inner = 0.5, 10.0


def exact(x):
    r2 = x[0] ** 2 + x[1] ** 2
    outside = 1 - (inner - 1) / (inner + 1) * radius**2 / r2
    return x[0] * torch.where(r2 < radius**2, 2 / (1 + inner), outside)


problem = pc.Problem(
    pc.Rectangle((-1, -1), (1, 1), name="sides"),
    flux=lambda x, u: torch.where(x @ x < radius**2, inner, 1.0) * u.grad,
    boundary={"sides": pc.Dirichlet(exact)},
)
solution = pc.solve(problem, accuracy=3e-2)
x, y = np.meshgrid(np.linspace(-1, 1, 160), np.linspace(-1, 1, 160))
points = np.stack([x.ravel(), y.ravel()], axis=1)
u, truth = solution(points), exact(torch.tensor(points).T).numpy()
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
figure, axes = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
figure.colorbar(axes.pcolormesh(x, y, u.reshape(x.shape), shading="gouraud"), label="u")
axes.add_patch(plt.Circle((0, 0), radius, fill=False, color="white", ls="--"))
axes.set(xlabel="x", ylabel="y", title="a disk that conducts ten times better", aspect="equal")
plt.show()
