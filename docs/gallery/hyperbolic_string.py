"""
A vibrating string
==================

The wave equation u_tt = 4 u_xx, written with a density of `u.dt`. Its start has two values: place and speed.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

pi = torch.pi


def exact(x, t):
    return torch.sin(pi * x[0]) * torch.cos(2 * pi * t) + torch.sin(3 * pi * x[0]) * torch.cos(6 * pi * t) / 2


problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1),
    density=lambda x, u: u.dt,
    flux=lambda x, u: 4 * u.grad,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(exact, rate=0.0)},
)
solution = pc.solve(problem, accuracy=1e-2)

x, t = np.meshgrid(np.linspace(0, 1, 150), np.linspace(0, 1, 150))
points = np.stack([x.ravel(), t.ravel()], axis=1)
u, truth = solution(points), exact(torch.tensor(points).T[:1], torch.tensor(points)[:, 1]).numpy()
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
figure.colorbar(axes.pcolormesh(x, t, u.reshape(x.shape), shading="gouraud", cmap="RdBu_r"), label="u")
axes.set(xlabel="x", ylabel="t", title="a string over one period")
plt.show()
