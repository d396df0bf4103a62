"""
Uncertain data, uncertain answer
================================

Conductivity and heat loss of a fin are known to within some percent. 100 000 queries of one network give the distribution of the
temperature at its tip; the truth has a formula here.
"""

import time

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


family = pc.Family(fin, k=pc.Normal(1.0, 0.05), h=pc.Normal(2.0, 0.2))
surrogate = pc.solve(family, accuracy=1e-2, width=12, depth=2)

mu = family.sample(100_000, seed=1).numpy()
begin = time.perf_counter()
tip = surrogate([[1.0]], mu)
seconds = time.perf_counter() - begin
truth = 1 / np.cosh(np.sqrt(mu[:, 1] / mu[:, 0]))
error = np.linalg.norm(tip - truth) / np.linalg.norm(truth)
print(f"{surrogate.verdict.message}; true error {error:.1e}; {len(tip)} queries in {seconds:.2f} s")
plt.hist(truth, 60, alpha=0.4, label="exact")
plt.hist(tip, 60, histtype="step", color="k", label="network")
plt.xlabel("temperature at the tip")
plt.legend()
plt.show()
