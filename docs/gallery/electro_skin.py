"""
The skin effect
===============

An alternating current flows near the surface of a conductor. The field is complex, w'' = i w / d^2 with the skin depth d, so it has two
real fields.
"""

import matplotlib.pyplot as plt
import numpy as np

import pcpinn as pc

k2 = 2 / 0.15**2  # a skin depth of 0.15
problem = pc.Problem(
    pc.Interval(-1, 1, name="surface"),
    fields=["p", "q"],  # w = p + i q
    flux=lambda x, p, q: (p.grad, q.grad),
    source=lambda x, p, q: (-k2 * q.value, k2 * p.value),
    boundary={"surface": {"p": pc.Dirichlet(1.0), "q": pc.Dirichlet(0.0)}},
)
solution = pc.solve(problem, accuracy=1e-2)

x = np.linspace(-1, 1, 801)
root = np.sqrt(1j * k2)
truth = np.cosh(root * x) / np.cosh(root)
p, q = solution(x[:, None]).T
error = max(np.linalg.norm(p - truth.real) / np.linalg.norm(truth.real),
            np.linalg.norm(q - truth.imag) / np.linalg.norm(truth.imag))  # fmt: skip
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(x, np.abs(truth), lw=4, alpha=0.3, label="exact amplitude")
for values, label in ((np.hypot(p, q), "amplitude"), (p, "real part"), (q, "imaginary part")):
    axes.plot(x, values, lw=1.5, label=label)
axes.set(xlabel="x", ylabel="field", title="a field that stays near the surface")
axes.legend()
plt.show()
