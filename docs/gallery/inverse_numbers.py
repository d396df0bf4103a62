"""
Two numbers from noisy data
===========================
A rod cools: u_t = k u_xx - h u. Both numbers are found from 200 temperatures with an error of 0.01, with their deviations.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

k, h, pi = 0.2, 0.5, np.pi


def rod(k, h):
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: k * u.grad,
        source=lambda x, u: h * u.value,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0),
                  "initial": pc.Initial(lambda x: torch.sin(pi * x[0]) + torch.sin(2 * pi * x[0]))},
    )  # fmt: skip


random = np.random.default_rng(0)
x, t = random.random((2, 200))
clean = sum(np.sin(n * pi * x) * np.exp(-(k * (n * pi) ** 2 + h) * t) for n in (1, 2))
data = pc.Observations(np.stack([x, t], axis=1), clean + 0.01 * random.standard_normal(200), noise=0.01)
found = pc.infer(rod, data, {"k": pc.Parameter(0.5, low=0.0), "h": pc.Parameter(0.5)},
                 mesh=pc.Meshing(cells=6, degree=3), time=pc.Slabs(steps=6), width=12, iterations=25)  # fmt: skip
values = np.array([found.parameters[n] for n in "kh"])
stds = np.array([found.std(n) for n in "kh"])
error = np.linalg.norm(values / [k, h] - 1)
print(f"k = {values[0]:.4f} +- {stds[0]:.4f}, h = {values[1]:.3f} +- {stds[1]:.3f}; truth {k}, {h}")
print(f"converged: {found.result['inverse']['converged']}; {found.result.seconds:.1f} s")
plt.errorbar(["k", "h"], values / [k, h], 2 * stds / [k, h], fmt="o", capsize=6)
plt.title("found / truth, with two deviations")
plt.show()
