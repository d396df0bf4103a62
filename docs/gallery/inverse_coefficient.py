"""
A coefficient with its uncertainty
==================================

-(a u')' = 1: the function a is found from 100 noisy values of u, without knowing u at the ends. The band holds two standard deviations.
"""

import matplotlib.pyplot as plt
import numpy as np

import pcpinn as pc


def wall(a):
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: a(x) * u.grad,
        source=lambda x, u: -1.0,
        boundary={"left": pc.Free(), "right": pc.Free()},
    )


random = np.random.default_rng(0)
x = np.sort(random.random((100, 1)), axis=0)
u = 2 * np.log(1 + x[:, 0]) - x[:, 0]  # that of a = 1 + x
data = pc.Observations(x, u + 0.003 * random.standard_normal(100), noise=0.003)
found = pc.infer(wall, data, {"a": pc.Coefficient(low=0.05, known={"left": 1.0, "right": 2.0})},
                 mesh=pc.Meshing(cells=12, degree=3), width=16, iterations=25)  # fmt: skip
s = np.linspace(0, 1, 101)[:, None]
a, std = found.coefficient("a")(s), found.std("a", s)
error = np.linalg.norm(a - 1 - s[:, 0]) / np.linalg.norm(1 + s[:, 0])
print(f"converged: {found.result['inverse']['converged']}; true error of a {error:.1e}; {found.result.seconds:.1f} s")
axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")[1]
axes[0].plot(x, data.values, "k.", ms=4, label="data")
axes[0].plot(s, found(s), label="u found")
axes[1].plot(s, 1 + s, "k--", label="truth")
axes[1].plot(s, a, label="a found")
axes[1].fill_between(s[:, 0], a - 2 * std, a + 2 * std, alpha=0.25, label="two deviations")
[ax.legend() for ax in axes]
plt.show()
