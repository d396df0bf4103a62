"""
The price of an option
======================

The equation of Black and Scholes for a European call, in the logarithm x of the price and the time t that is left:
u_t = s^2/2 (u_xx - u_x) + r (u_x - u). The pay-off has a kink.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.stats import norm

import pcpinn as pc

s, r = 0.3, 0.05  # volatility and interest; the strike is 1
problem = pc.Problem(
    pc.Interval(-1.5, 1.5).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: s**2 / 2 * u.grad,
    source=lambda x, u: r * u.value - (r - s**2 / 2) * u.grad[0],
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(lambda x, t: torch.exp(x[0]) - torch.exp(-r * t)),
              "initial": pc.Initial(lambda x: torch.clamp(torch.exp(x[0]) - 1, min=0.0))},
)  # fmt: skip
solution = pc.solve(problem, accuracy=1e-2)

points = np.random.default_rng(0).uniform((-1.5, 1e-6), (1.5, 1), (4000, 2))
x, t = points.T
d = (x + (r + s**2 / 2) * t) / (s * np.sqrt(t))
truth = np.exp(x) * norm.cdf(d) - np.exp(-r * t) * norm.cdf(d - s * np.sqrt(t))
error = np.linalg.norm(solution(points) - truth) / np.linalg.norm(truth)
print(f"{solution.verdict.message}; true error {error:.1e}; {solution.result.seconds:.1f} s")
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
x = np.linspace(-0.6, 0.5, 300)
for t in (0.0, 0.25, 1.0):
    axes.plot(np.exp(x), solution(np.stack([x, 0 * x + t], axis=1)), label=f"{t} years left")
axes.set(xlabel="price of the share / strike", ylabel="value of the call", title="Black and Scholes")
axes.legend()
plt.show()
