"""
Two chemicals: the Brusselator
==============================
Two fields that react and diffuse on a ring. The truth is computed by scipy, with finite differences on 200 points.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.integrate import solve_ivp

import pcpinn as pc

D = 0.005
problem = pc.Problem(
    pc.Interval(0, 1).over(0, 3),
    fields=["u", "v"],
    density=lambda x, u, v: (u.value, v.value),
    flux=lambda x, u, v: (D * u.grad, D * v.grad),
    source=lambda x, u, v: (4 * u.value - 1 - u.value**2 * v.value, u.value**2 * v.value - 3 * u.value),
    boundary={"left": dict.fromkeys("uv", pc.Periodic("right")),
              "initial": {"u": pc.Initial(lambda x: 1 + torch.sin(2 * torch.pi * x[0]) / 2), "v": pc.Initial(3.0)}},
)  # fmt: skip
solution = pc.solve(problem, accuracy=1e-2)

def rate(t, w, n=200):
    u, v = w.reshape(2, n)
    a, b = (D * n**2 * (np.roll(f, 1) - 2 * f + np.roll(f, -1)) for f in (u, v))
    return np.append(1 + u**2 * v - 4 * u + a, 3 * u - u**2 * v + b)


grid, times = np.arange(200) / 200, np.linspace(0, 3, 61)
start = np.append(1 + np.sin(2 * np.pi * grid) / 2, np.full(200, 3.0))
truth = solve_ivp(rate, (0, 3), start, t_eval=times, rtol=1e-7, atol=1e-7).y.reshape(2, -1)
x, t = np.meshgrid(grid, times, indexing="ij")
w = solution(np.stack([x.ravel(), t.ravel()], axis=1)).T
error = max(np.linalg.norm(w - truth, axis=1) / np.linalg.norm(truth, axis=1))
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
plt.colorbar(plt.pcolormesh(x, t, w[0].reshape(x.shape), shading="gouraud"), label="u")
plt.show()
