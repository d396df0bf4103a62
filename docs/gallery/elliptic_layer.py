"""
A boundary layer
================

Something is carried to the right and hardly diffuses: -0.01 u'' + u' = 1. At the right end u drops to 0 within 0.01 of the length.
"""

import matplotlib.pyplot as plt
import numpy as np

import pcpinn as pc

eps = 0.01
problem = pc.Problem(
    pc.Interval(0, 1),
    flux=lambda x, u: eps * u.grad,
    source=lambda x, u: u.grad[0] - 1.0,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
)
solution = pc.solve(problem, accuracy=1e-2)

x = np.linspace(0, 1, 2001)
truth = x - (np.exp((x - 1) / eps) - np.exp(-1 / eps)) / (1 - np.exp(-1 / eps))
error = np.linalg.norm(solution(x[:, None]) - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")

figure, (whole, axes) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
for ax in (whole, axes):
    ax.plot(x, truth, lw=4, alpha=0.3, label="exact")
    ax.plot(x, solution(x[:, None]), lw=1.5, label="network")
whole.set(xlabel="x", ylabel="u", title="a boundary layer")
axes.set(xlabel="x", xlim=(0.9, 1.003), title="and its last tenth")
axes.legend()
plt.show()
