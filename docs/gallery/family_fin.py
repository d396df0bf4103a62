"""
A family: all cooling fins at once
==================================

One network for all conductivities k and heat losses h: -k u'' + h u = 0. Each query comes with an estimate of its own error.
"""

import matplotlib.pyplot as plt
import numpy as np

import pcpinn as pc


def fin(k, h):
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: k * u.grad,
        source=lambda x, u: h * u.value,
        boundary={"left": pc.Dirichlet(1.0), "right": pc.Neumann(0.0)},
    )


family = pc.Family(fin, k=pc.Range(0.5, 2.0), h=pc.Range(0.1, 10.0, log=True))
surrogate = pc.solve(family, accuracy=3e-2, width=12, depth=2)

x, errors = np.linspace(0, 1, 101)[:, None], []
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for k, h in ((1.0, 0.2), (2.0, 3.0), (1.0, 5.0), (0.5, 10.0)):
    m = np.sqrt(h / k)
    truth = np.cosh(m * (1 - x[:, 0])) / np.cosh(m)
    u, estimate = surrogate(x, {"k": k, "h": h}), surrogate.estimate({"k": k, "h": h})
    errors.append(np.linalg.norm(u - truth) / np.linalg.norm(truth))
    axes.plot(x, u, label=f"k = {k}, h = {h}: estimate {estimate.total:.0e}, true {errors[-1]:.0e}")
error = max(errors)
print(f"{surrogate.verdict.message}; largest true error {error:.1e}; {surrogate.result.seconds:.1f} s")
axes.set(xlabel="x", ylabel="temperature", title="four of all cooling fins")
axes.legend()
plt.show()
