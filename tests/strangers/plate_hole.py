"""A steel plate with a round hole under tension (Kirsch), one quarter of it, in SI units: displacements are 1e-6 m.

Plane stress, 1 MPa along x at infinity. The exact tractions act on the outer sides, symmetry holds on the inner ones, and the
hole is free. Stresses are three times higher at the hole. Truth: Kirsch's closed form.
"""

import numpy as np
import torch

import pcpinn as pc

E, nu, a, T = 210e9, 0.3, 0.2, 1e6  # Pa, 1, m, Pa
mu = E / (2 * (1 + nu))
lam = E * nu / (1 - nu**2)  # of plane stress


def exact(x):
    r, angle = torch.sqrt(x[0] ** 2 + x[1] ** 2), torch.atan2(x[1], x[0])
    k, s = (3 - nu) / (1 + nu), a / r
    c1, c3, s1, s3 = torch.cos(angle), torch.cos(3 * angle), torch.sin(angle), torch.sin(3 * angle)
    u = (k + 1) * c1 / s + 2 * s * ((1 + k) * c1 + c3) - 2 * s**3 * c3
    v = (k - 3) * s1 / s + 2 * s * ((1 - k) * s1 + s3) - 2 * s**3 * s3
    return T * a / (8 * mu) * torch.stack([u, v])


def stress(x):
    q, angle = a**2 / (x @ x), torch.atan2(x[1], x[0])
    c2, c4, s2, s4 = torch.cos(2 * angle), torch.cos(4 * angle), torch.sin(2 * angle), torch.sin(4 * angle)
    xx = 1 - q * (1.5 * c2 + c4) + 1.5 * q**2 * c4
    yy = -q * (0.5 * c2 - c4) - 1.5 * q**2 * c4
    xy = -q * (0.5 * s2 + s4) + 1.5 * q**2 * s4
    return T * torch.stack([torch.stack([xx, xy]), torch.stack([xy, yy])])


def hooke(x, u):
    strain = (u.grad + u.grad.T) / 2
    return 2 * mu * strain + lam * strain.trace() * torch.eye(2, dtype=x.dtype)


domain = pc.Rectangle((0, 0), (1, 1)) - pc.Disk((0, 0), a, name="hole")
problem = pc.Problem(
    domain,
    fields=pc.Field("u", components=2),
    flux=hooke,
    boundary={
        "left": pc.Dirichlet([0.0, None]),
        "bottom": pc.Dirichlet([None, 0.0]),
        "right": pc.Natural(lambda x, n, u: stress(x) @ n),
        "top": pc.Natural(lambda x, n, u: stress(x) @ n),
        "hole": pc.Neumann(0.0),
    },
)

points = np.random.default_rng(0).random((2000, 2))
points = points[domain.contains(points)]
reference = pc.Reference(points, exact(torch.tensor(points).T).T, components=(0, 1))
