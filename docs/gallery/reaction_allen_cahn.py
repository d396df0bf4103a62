"""
Phases that separate: Allen and Cahn
====================================

u_t = 0.001 u_xx + 5 (u - u^3) on a ring. The truth is a Fourier series of 256 terms, integrated in time by scipy.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.integrate import solve_ivp

import pcpinn as pc

problem = pc.Problem(
    pc.Interval(-1, 1).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: 1e-3 * u.grad,
    source=lambda x, u: -5 * (u.value - u.value**3),
    boundary={"left": pc.Periodic("right"), "initial": pc.Initial(lambda x: x[0] ** 2 * torch.cos(torch.pi * x[0]))},
)
solution = pc.solve(problem, accuracy=1e-2)

grid, times = -1 + 2 * np.arange(256) / 256, np.linspace(0, 1, 101)
k2 = (np.pi * np.arange(129)) ** 2
run = solve_ivp(lambda t, u: 1e-3 * np.fft.irfft(-k2 * np.fft.rfft(u)) + 5 * (u - u**3), (0, 1),
                grid**2 * np.cos(np.pi * grid), t_eval=times, rtol=1e-8, atol=1e-8)  # fmt: skip
x, t = np.meshgrid(grid, times)
u, truth = solution(np.stack([x.ravel(), t.ravel()], axis=1)).reshape(x.shape), run.y.T
error = np.linalg.norm(u - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
figure.colorbar(axes.pcolormesh(x, t, u, shading="gouraud", cmap="coolwarm"), label="u")
axes.set(xlabel="x", ylabel="t", title="two phases on a ring")
plt.show()
