"""
Transport around a ring
=======================

u_t + u_x = 0 on a ring: a bump travels round twice and must not lose its height. Ordinary PINNs fail at this.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc


def exact(x, t):
    return torch.exp(-(((torch.remainder(x[0] - t, 1.0) - 0.5) / 0.1) ** 2))


problem = pc.Problem(
    pc.Interval(0, 1).over(0, 2),
    density=lambda x, u: u.value,
    source=lambda x, u: u.grad[0],
    boundary={"left": pc.Periodic("right"), "initial": pc.Initial(exact)},
)
solution = pc.solve(problem, accuracy=1e-2)

x, t = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 2, 201))
points = np.stack([x.ravel(), t.ravel()], axis=1)
u, truth = solution(points), exact(torch.tensor(points).T[:1], torch.tensor(points)[:, 1]).numpy()
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
figure.colorbar(axes.pcolormesh(x, t, u.reshape(x.shape), shading="gouraud"), label="u")
axes.set(xlabel="x", ylabel="t", title="twice around a ring")
plt.show()
