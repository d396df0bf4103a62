"""
Three dimensions
================

Heat in a cube whose left and right faces are kept at 0 and 1, with sources inside that make the answer known.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc


def exact(x):
    return x[0] + torch.sin(torch.pi * x[0]) * torch.cos(torch.pi * x[1]) * torch.cos(torch.pi * x[2])


problem = pc.Problem(
    pc.Box((0, 0, 0), (1, 1, 1)),
    flux=lambda x, u: u.grad,
    source=lambda x, u: -3 * torch.pi**2 * (exact(x) - x[0]),
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(1.0),
              **dict.fromkeys(("front", "back", "bottom", "top"), pc.Neumann(0.0))},
)  # fmt: skip
solution = pc.solve(problem, accuracy=2e-2, mesh=pc.Meshing(cells=(6, 6, 6), degree=2), width=14, features="none")

points = np.random.default_rng(0).random((5000, 3))
truth = exact(torch.tensor(points).T).numpy()
error = np.linalg.norm(solution(points) - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained", subplot_kw={"projection": "3d"})
a, b = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
for x, y, z in ((a, 0 * a, b), (a, b, 0 * a + 1), (0 * a + 1, a, b)):
    u = solution(np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)).reshape(a.shape)
    axes.plot_surface(x, y, z, facecolors=plt.cm.viridis((u + 0.7) / 2.4), rstride=1, cstride=1, shade=False)
axes.set(xlabel="x", ylabel="y", zlabel="z", title="temperature on three faces of a cube")
plt.show()
