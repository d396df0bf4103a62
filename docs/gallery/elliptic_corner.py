"""
A corner with an infinite gradient
==================================

Laplace's equation in an L. The gradient of the solution is infinite at the inner corner; the mesh is refined there by itself,
and the network is given the distance and the direction from it.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc


def exact(x):
    angle = torch.atan2(-x[0] - x[1], x[1] - x[0])
    return (x[0] ** 2 + x[1] ** 2) ** (1 / 3) * torch.cos(2 * angle / 3)


domain = pc.Polygon([(0, 0), (0, -1), (-1, -1), (-1, 1), (1, 1), (1, 0)], names="sides")
problem = pc.Problem(domain, flux=lambda x, u: u.grad, boundary={"sides": pc.Dirichlet(exact)})
solution = pc.solve(problem, accuracy=1e-2)

x, y = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(-1, 1, 201))
points = np.stack([x.ravel(), y.ravel()], axis=1)
u, truth = solution(points, outside="nan"), exact(torch.tensor(points).T).numpy()
inside = np.isfinite(u)
error = np.linalg.norm((u - truth)[inside]) / np.linalg.norm(truth[inside])
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
figure.colorbar(axes.pcolormesh(x, y, u.reshape(x.shape)), label="u")
axes.triplot(*solution.mesh.nodes.T, solution.mesh.cells, color="white", lw=0.3)
axes.set(xlabel="x", ylabel="y", title="Laplace in an L, and the mesh that was chosen", aspect="equal")
plt.show()
