"""
Damped waves on a cable
=======================

The telegraph equation u_tt + 2 u_t = u_xx. What is conserved is a sum, and the density says so: `u.dt + 2 u.value`.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc


def exact(x, t):
    w = np.sqrt(24)
    still = (1 + t) * torch.sin(x[0])  # damped critically
    wave = (torch.cos(w * t) + torch.sin(w * t) / w) * torch.sin(5 * x[0]) / 2
    return torch.exp(-t) * (still + wave)


problem = pc.Problem(
    pc.Interval(0, np.pi).over(0, 3),
    density=lambda x, u: u.dt + 2 * u.value,
    flux=lambda x, u: u.grad,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0),
              "initial": pc.Initial(lambda x: torch.sin(x[0]) + torch.sin(5 * x[0]) / 2, rate=0.0)},
)  # fmt: skip
solution = pc.solve(problem, accuracy=1e-2)
x, t = np.meshgrid(np.linspace(0, np.pi, 120), np.linspace(0, 3, 120))
points = np.stack([x.ravel(), t.ravel()], axis=1)
u, truth = solution(points), exact(torch.tensor(points).T[:1], torch.tensor(points)[:, 1]).numpy()
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
figure.colorbar(axes.pcolormesh(x, t, u.reshape(x.shape), shading="gouraud"), label="u")
axes.set(xlabel="x", ylabel="t", title="waves that are damped")
plt.show()
