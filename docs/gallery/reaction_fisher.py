"""
A front that spreads: Fisher's equation
=======================================

u_t = 0.01 u_xx + u (1 - u): growth and diffusion make a front that travels at a speed of its own.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

D = 0.01
speed = 5 / np.sqrt(6) * np.sqrt(D)


def exact(x, t):
    return (1 + torch.exp((x[0] - speed * t) / np.sqrt(6 * D))) ** -2


problem = pc.Problem(
    pc.Interval(-1, 3).over(0, 8),
    density=lambda x, u: u.value,
    flux=lambda x, u: D * u.grad,
    source=lambda x, u: -u.value * (1 - u.value),
    boundary={"left": pc.Dirichlet(exact), "right": pc.Dirichlet(exact), "initial": pc.Initial(exact)},
)
solution = pc.solve(problem, accuracy=1e-2)
x, t = np.meshgrid(np.linspace(-1, 3, 150), np.linspace(0, 8, 150))
points = np.stack([x.ravel(), t.ravel()], axis=1)
u, truth = solution(points), exact(torch.tensor(points).T[:1], torch.tensor(points)[:, 1]).numpy()
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
figure.colorbar(axes.pcolormesh(x, t, u.reshape(x.shape), shading="gouraud"), label="u")
axes.set(xlabel="x", ylabel="t", title="a front of Fisher's equation")
plt.show()
