"""
A plate with a hole
===================
A quarter of a steel plate under tension, in SI units. Stresses, from derivatives of the network, are three times as high at the hole.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc

E, nu, a, T = 210e9, 0.3, 0.2, 1e6
mu, lam, kappa = E / (2 * (1 + nu)), E * nu / (1 - nu**2), (3 - nu) / (1 + nu)  # plane stress


def exact(x):
    z = torch.complex(x[0], x[1])
    phi, slope, psi = z + 2 * a**2 / z, 1 - 2 * a**2 / z**2, -2 * (z + a**2 / z - a**4 / z**3)
    w = T / (8 * mu) * (kappa * phi - z * slope.conj() - psi.conj())
    return torch.stack([w.real, w.imag])


def stress(grad):
    return mu * (grad + grad.T) + lam * grad.trace() * torch.eye(2, dtype=grad.dtype)


pull = pc.Natural(lambda x, n, u: stress(torch.func.jacfwd(exact)(x)) @ n)
domain = pc.Rectangle((0, 0), (1, 1)) - pc.Disk((0, 0), a, name="hole")
sides = {"left": pc.Dirichlet([0.0, None]), "bottom": pc.Dirichlet([None, 0.0]), "hole": pc.Neumann(0.0), "right": pull, "top": pull}
problem = pc.Problem(domain, fields=pc.Field("u", components=2), flux=lambda x, u: stress(u.grad), boundary=sides)
solution = pc.solve(problem, accuracy=1e-2)
grid = np.stack(np.meshgrid(np.linspace(0, 1, 80), np.linspace(0, 1, 80)), axis=-1).reshape(-1, 2)
points = torch.tensor(grid[domain.contains(grid)])
error = float((solution(points).detach() - exact(points.T).T).norm() / exact(points.T).norm())
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
grads = torch.func.vmap(torch.func.jacrev(lambda p: solution(p[None], outside="ignore")[0]))(points)
plt.scatter(*points.T, c=torch.func.vmap(stress)(grads)[:, 0, 0].detach() / T, s=12, marker="s")
plt.colorbar(label="stress along x / tension")
plt.show()
