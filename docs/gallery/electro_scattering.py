"""
A plane wave through an absorbing box
=====================================
Helmholtz' equation at k = 8 with impedance conditions on all sides, as two real fields.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

k = 8.0
d = (np.cos(0.6), np.sin(0.6))


def exact(x):  # real and imaginary part of exp(i k d . x)
    return torch.stack([f(k * (d[0] * x[0] + d[1] * x[1])) for f in (torch.cos, torch.sin)])


def incoming(x, n):  # what the plane wave leaves in dw/dn - i k w
    a, b = exact(x)
    s = k * (d[0] * n[0] + d[1] * n[1] - 1)
    return -s * b, s * a


sides = {"a": pc.Natural(lambda x, n, a, b: -k * b.value + incoming(x, n)[0]),
         "b": pc.Natural(lambda x, n, a, b: k * a.value + incoming(x, n)[1])}  # fmt: skip
problem = pc.Problem(
    pc.Rectangle((0, 0), (1, 1), name="sides"), flux=lambda x, a, b: (a.grad, b.grad), fields=["a", "b"],
    source=lambda x, a, b: (-(k**2) * a.value, -(k**2) * b.value), boundary={"sides": sides})  # fmt: skip
solution = pc.solve(problem, accuracy=2e-2)
x, y = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
points = np.stack([x.ravel(), y.ravel()], axis=1)
w, truth = solution(points), exact(torch.tensor(points).T).numpy().T
error = np.linalg.norm(w - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
plt.pcolormesh(x, y, w[:, 0].reshape(x.shape), shading="gouraud", cmap="RdBu_r")
plt.colorbar(label="real part")
plt.show()
