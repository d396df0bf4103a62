"""
Maxwell's equations in a resonator
==================================

E_t = -H_x and H_t = -E_x between two mirrors: two fields of first order. The derivatives stand in the sources, so only E, which vanishes
at the mirrors, has conditions.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

problem = pc.Problem(
    pc.Interval(0, 1, name="mirrors").over(0, 1),
    fields=["E", "H"],
    density=lambda x, E, H: (E.value, H.value),
    source=lambda x, E, H: (H.grad[0], E.grad[0]),
    boundary={"mirrors": {"E": pc.Dirichlet(0.0), "H": pc.Neumann(0.0)},
              "initial": {"E": pc.Initial(lambda x: torch.sin(2 * torch.pi * x[0])), "H": pc.Initial(0.0)}},
)  # fmt: skip
solution = pc.solve(problem, accuracy=1e-2)

x, t = np.meshgrid(np.linspace(0, 1, 120), np.linspace(0, 1, 120))
w = solution(np.stack([x.ravel(), t.ravel()], axis=1)).T.reshape(2, *x.shape)
k = 2 * np.pi
truth = np.stack([np.sin(k * x) * np.cos(k * t), -np.cos(k * x) * np.sin(k * t)])
error = max(np.linalg.norm(f - r) / np.linalg.norm(r) for f, r in zip(w, truth, strict=True))
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained", sharey=True)
for ax, name, values in zip(axes, ("E", "H"), w, strict=True):
    figure.colorbar(ax.pcolormesh(x, t, values, shading="gouraud", cmap="RdBu_r"), label=name)
    ax.set(xlabel="x", ylabel="t")
figure.suptitle("a standing wave between two mirrors")
plt.show()
