"""
Flow around a cylinder, without friction
========================================

The potential of an ideal flow is harmonic, and its velocity is the gradient of the network, which torch differentiates.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

R = 0.5


def exact(x):
    return x[0] * (1 + R**2 / (x[0] ** 2 + x[1] ** 2))


domain = pc.Rectangle((-2, -1), (2, 1), name="far") - pc.Disk((0, 0), R, name="cylinder")
problem = pc.Problem(
    domain, flux=lambda x, u: u.grad, boundary={"far": pc.Dirichlet(exact), "cylinder": pc.Neumann(0.0)}
)
solution = pc.solve(problem, accuracy=1e-2)
x, y = np.meshgrid(np.linspace(-2, 2, 161), np.linspace(-1, 1, 81))
points = torch.tensor(np.stack([x.ravel(), y.ravel()], axis=1), requires_grad=True)
phi = solution(points, outside="ignore")
(velocity,) = torch.autograd.grad(phi.sum(), points)
inside = domain.contains(points.detach().numpy())
truth = exact(points.detach().T).numpy()
error = np.linalg.norm((phi.detach().numpy() - truth)[inside]) / np.linalg.norm(truth[inside])
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
vx, vy = np.where(inside, velocity.numpy().T, np.nan).reshape(2, *x.shape)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
lines = axes.streamplot(x, y, vx, vy, color=np.hypot(vx, vy), density=1.2, cmap="viridis")
figure.colorbar(lines.lines, label="speed")
axes.set(xlabel="x", ylabel="y", title="ideal flow: the gradient of the network", aspect="equal")
plt.show()
