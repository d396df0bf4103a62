"""
A drum
======

A round membrane that was pushed down in the shape of its second symmetric mode: two dimensions and time.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.special import j0, jn_zeros

import pcpinn as pc

k = float(jn_zeros(0, 2)[1])
problem = pc.Problem(
    pc.Disk((0, 0), 1.0, name="rim").over(0, 1),
    density=lambda x, u: u.dt,
    flux=lambda x, u: u.grad,
    boundary={"rim": pc.Dirichlet(0.0),
              "initial": pc.Initial(lambda x: torch.special.bessel_j0(k * torch.sqrt(x @ x + 1e-30)), rate=0.0)},
)  # fmt: skip
solution = pc.solve(problem, accuracy=2e-2)

random = np.random.default_rng(0)
r, angle, t = np.sqrt(random.random(4000)), 2 * np.pi * random.random(4000), random.random(4000)
truth = j0(k * r) * np.cos(k * t)
u = solution(np.stack([r * np.cos(angle), r * np.sin(angle), t], axis=1))
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure = plt.figure(figsize=(9, 3.6), layout="constrained")
r, angle = np.meshgrid(np.linspace(0, 1, 40), np.linspace(0, 2 * np.pi, 60))
x, y = r * np.cos(angle), r * np.sin(angle)
for i, t in enumerate((0.0, 0.15, 0.57)):
    axes = figure.add_subplot(1, 3, i + 1, projection="3d", title=f"t = {t}", zlim=(-1, 1), xticks=[], yticks=[])
    u = solution(np.stack([x.ravel(), y.ravel(), 0 * x.ravel() + t], axis=1)).reshape(x.shape)
    axes.plot_surface(x, y, u, cmap="RdBu_r", vmin=-1, vmax=1)
plt.show()
