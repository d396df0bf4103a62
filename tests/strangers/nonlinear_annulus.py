"""A conductivity that depends on the solution: -div((1 + u^2) grad u) = 4 in a ring between two circles.

Truth: closed form. w = u + u^3 / 3 fulfils -Laplace w = 4 (Kirchhoff), for which w is chosen; u is the root of the cubic.
"""

import numpy as np
import torch

import pcpinn as pc


def exact(x):
    r2 = x[0] ** 2 + x[1] ** 2
    w = 1 - r2 + 1.5 * torch.log(r2) + 2 * (x[0] ** 2 - x[1] ** 2) + x[1] / r2
    return 2 * torch.sinh(torch.asinh(1.5 * w) / 3)


domain = pc.Disk((0, 0), 1.0, name="outer") - pc.Disk((0, 0), 0.4, name="inner")
problem = pc.Problem(
    domain,
    flux=lambda x, u: (1 + u.value**2) * u.grad,
    source=lambda x, u: -4.0,
    boundary={"outer": pc.Dirichlet(exact), "inner": pc.Dirichlet(exact)},
)

points = np.random.default_rng(0).uniform(-1, 1, (3000, 2))
points = points[domain.contains(points)]
reference = pc.Reference(points, exact(torch.tensor(points).T))
