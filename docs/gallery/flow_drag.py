"""
Drag and lift of a cylinder
===========================

Steady flow in a channel around a cylinder (the benchmark DFG 2D-1). Forces are asked of the solution, and come with errors of
their own; the known drag coefficient is 5.57953523.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

problem = pc.Problem(
    pc.Rectangle((0, 0), (2.2, 0.41)) - pc.Disk((0.2, 0.2), 0.05, name="cylinder"),
    fields=[pc.Field("u", components=2), pc.Field("p", lower=1)],
    flux=lambda x, u, p: (1e-3 * u.grad - p.value * torch.eye(2, dtype=x.dtype), None),
    source=lambda x, u, p: (u.grad @ u.value, u.grad.trace()),
    boundary={
        "left": {"u": pc.Dirichlet(lambda x: torch.stack([1.2 * x[1] * (0.41 - x[1]) / 0.41**2, 0 * x[1]]))},
        "right": {"u": pc.Neumann(0.0)},
        **dict.fromkeys(("bottom", "top", "cylinder"), {"u": pc.Dirichlet(0.0)}),
    },
)
solution = pc.solve(problem, size=0.08, degree=3, curvature=2, width=16, depth=2, iterations=15, accuracy=None)
drag, lift = (-q / (0.2**2 * 0.1 / 2) for q in solution.flux("cylinder", "u"))
error = abs(drag.value - 5.57953523) / 5.57953523
print(f"drag {drag}, lift {lift}; true error of the drag {error:.1e}; {solution.result.seconds:.1f} s")

x, y = np.meshgrid(np.linspace(0, 2.2, 330), np.linspace(0, 0.41, 62))
w = solution(np.stack([x.ravel(), y.ravel()], axis=1), "u", outside="nan")
figure, axes = plt.subplots(figsize=(8, 2.2), layout="constrained")
drawn = axes.pcolormesh(x, y, np.hypot(*w.T).reshape(x.shape), shading="gouraud")
figure.colorbar(drawn, label="speed")
axes.set(xlabel="x", ylabel="y", title="flow around a cylinder", aspect="equal")
plt.show()
