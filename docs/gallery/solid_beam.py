"""
A beam: four derivatives
========================

A cantilever under its weight: u'''' = q. Equations have two derivatives, so the bending moment becomes a field of its own.
"""

import matplotlib.pyplot as plt
import numpy as np

import pcpinn as pc

q = 2.0
problem = pc.Problem(
    pc.Interval(0, 1),
    fields=["u", "m"],
    flux=lambda x, u, m: (-m.grad, u.grad),
    source=lambda x, u, m: (-q, m.value),  # m'' = q and m = u''
    boundary={
        "left": {"u": pc.Dirichlet(0.0), "m": pc.Neumann(0.0)},  # clamped: u = u' = 0
        "right": {"u": pc.Neumann(0.0), "m": pc.Dirichlet(0.0)},  # free: m = m' = 0
    },
)
solution = pc.solve(problem, accuracy=1e-3)

x = np.linspace(0, 1, 201)
truth = np.stack([q * x**2 * (6 - 4 * x + x**2) / 24, q * (1 - x) ** 2 / 2], axis=1)
found = solution(x[:, None])
error = max(np.linalg.norm(found - truth, axis=0) / np.linalg.norm(truth, axis=0))
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(2, 1, figsize=(6, 4), layout="constrained", sharex=True)
for ax, k, name in zip(axes, (0, 1), ("deflection", "bending moment"), strict=True):
    ax.plot(x, truth[:, k], lw=4, alpha=0.3, label="exact")
    ax.plot(x, found[:, k], lw=1.5, label="network")
    ax.set(ylabel=name)
axes[0].legend()
axes[1].set(xlabel="x")
plt.show()
