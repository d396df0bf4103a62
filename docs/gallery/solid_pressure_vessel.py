"""
A thick pipe under pressure
===========================

A quarter of a pipe with a pressure inside, in plane strain. Truth: Lame's formula.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

a, b, p, mu, lam = 1.0, 2.0, 1.0, 1.0, 1.5  # radii, pressure, Lame's constants
ring = pc.Disk((0, 0), b, name="outer") - pc.Disk((0, 0), a, name="inner")
problem = pc.Problem(
    ring & pc.Rectangle((0, 0), (b, b)),
    fields=pc.Field("u", components=2),
    flux=lambda x, u: mu * (u.grad + u.grad.T) + lam * u.grad.trace() * torch.eye(2, dtype=x.dtype),
    boundary={
        "inner": pc.Natural(lambda x, n, u: -p * n),  # flux . n is the force on the side
        "outer": pc.Neumann(0.0),
        "left": pc.Dirichlet([0.0, None]),  # symmetry
        "bottom": pc.Dirichlet([None, 0.0]),
    },
)
solution = pc.solve(problem, accuracy=1e-2)

r, angle = np.meshgrid(np.linspace(a, b, 40), np.linspace(0, np.pi / 2, 60))
x, y = r * np.cos(angle), r * np.sin(angle)
u = solution(np.stack([x.ravel(), y.ravel()], axis=1), outside="ignore").T.reshape(2, *x.shape)
outwards = p * a**2 / (b**2 - a**2) * (r / (2 * (lam + mu)) + b**2 / (2 * mu * r))
truth = outwards * np.stack([x, y]) / r
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
figure, axes = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
drawn = axes.pcolormesh(*(np.stack([x, y]) + 0.3 * u), np.hypot(*u), shading="gouraud")
figure.colorbar(drawn, label="displacement (drawn 0.3 times)")
axes.set(xlabel="x", ylabel="y", title="a pipe under pressure", aspect="equal")
plt.show()
