"""
Flow behind a grid
==================

Kovasznay's solution of the steady Navier-Stokes equations at Reynolds number 20: a vector and a scalar field, a divergence that
vanishes, and a pressure that is fixed at one point.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

Re = 20.0
lam = Re / 2 - np.sqrt(Re**2 / 4 + 4 * np.pi**2)


def exact(x):
    e, y = torch.exp(lam * x[0]), 2 * torch.pi * x[1]
    return torch.stack([1 - e * torch.cos(y), lam / (2 * torch.pi) * e * torch.sin(y), (1 - e**2) / 2])


problem = pc.Problem(
    pc.Rectangle((-0.5, -0.5), (1.0, 0.5), name="sides"),
    fields=[pc.Field("u", components=2), pc.Field("p", lower=1)],
    flux=lambda x, u, p: (u.grad / Re - p.value * torch.eye(2, dtype=x.dtype), None),
    source=lambda x, u, p: (u.grad @ u.value, u.grad.trace()),
    boundary={"sides": {"u": pc.Dirichlet(lambda x: exact(x)[:2])}},
    pins=[pc.Pin(at=(1.0, -0.5), value=float(exact(torch.tensor([1.0, -0.5]).double())[2]), field="p")],
)
solution = pc.solve(problem, accuracy=2e-2)
x, y = np.meshgrid(np.linspace(-0.5, 1, 120), np.linspace(-0.5, 0.5, 80))
points = np.stack([x.ravel(), y.ravel()], axis=1)
w, truth = solution(points), exact(torch.tensor(points).T).numpy().T
error = max(np.linalg.norm((w - truth)[:, i]) / np.linalg.norm(truth[:, i]) for i in ([0, 1], [2]))
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
lines = plt.streamplot(x, y, *w[:, :2].T.reshape(2, *x.shape), color=np.hypot(*w[:, :2].T).reshape(x.shape), density=1.3)
plt.colorbar(lines.lines, label="speed")
plt.show()
