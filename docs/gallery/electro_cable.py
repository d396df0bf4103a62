"""
The capacitance of a cable
==========================

The field between a wire and a screen that is not concentric: Laplace's equation, and an energy that is asked of the solution with
its error. Truth: a closed form.
"""

import matplotlib.pyplot as plt
import numpy as np

import pcpinn as pc

a, b, shift = 0.25, 1.0, 0.4  # radii of wire and screen, distance of their axes
domain = pc.Disk((0, 0), b, name="screen") - pc.Disk((shift, 0), a, name="wire")
problem = pc.Problem(
    domain,
    flux=lambda x, u: u.grad,
    boundary={"screen": pc.Dirichlet(0.0), "wire": pc.Dirichlet(1.0)},
)
solution = pc.solve(problem, accuracy=2e-2, mesh=pc.Meshing(size=0.2, degree=3), width=14)

charge = solution.flux("wire")  # per length, in units of the permittivity: the capacitance
truth = 2 * np.pi / np.arccosh((a**2 + b**2 - shift**2) / (2 * a * b))
error = abs(charge.value - truth) / truth
print(f"capacitance {charge}, truth {truth:.6f}; {solution.verdict.message}; {solution.result.seconds:.1f} s")

x, y = np.meshgrid(np.linspace(-1, 1, 240), np.linspace(-1, 1, 240))
u = solution(np.stack([x.ravel(), y.ravel()], axis=1), outside="nan").reshape(x.shape)
figure, axes = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
figure.colorbar(axes.pcolormesh(x, y, u, shading="gouraud"), label="potential")
axes.set(xlabel="x", ylabel="y", title="equipotentials between wire and screen", aspect="equal")
plt.show()
