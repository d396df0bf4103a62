"""A steel beam on two supports with a load on a short stretch, in SI units: EI u'''' = q.

4 m long, EI = 1.68e6 N m^2, 50 kN/m between 1.2 m and 1.3 m, downwards. The deflection is some millimetres, the moment
kilonewton metres. With the moment m = EI u'' the equations are m'' = q and m = EI u''. Truth: closed form, by integration.
"""

import numpy as np
import torch

import pcpinn as pc

EI, length, a, b, q = 1.68e6, 4.0, 1.2, 1.3, -50e3
force = q * (b - a)
support = force * (length - (a + b) / 2) / length  # at the left


def ramp(x, p):
    return torch.clamp(x[0] - a, min=0.0) ** p - torch.clamp(x[0] - b, min=0.0) ** p


def exact(x):
    """Deflection and moment: m = -support x + q ((x - a)+^2 - (x - b)+^2) / 2, integrated twice."""
    m = -support * x[0] + q / 2 * ramp(x, 2)
    slope = -(-support * length**3 / 6 + q / 24 * ((length - a) ** 4 - (length - b) ** 4)) / length
    return torch.stack([(-support * x[0] ** 3 / 6 + q / 24 * ramp(x, 4) + slope * x[0]) / EI, m])


problem = pc.Problem(
    pc.Interval(0, length),
    fields=["u", "m"],
    flux=lambda x, u, m: (-m.grad, EI * u.grad),
    source=lambda x, u, m: (-torch.where((x[0] > a) & (x[0] < b), q, 0.0), m.value),
    boundary={
        "left": {"u": pc.Dirichlet(0.0), "m": pc.Dirichlet(0.0)},
        "right": {"u": pc.Dirichlet(0.0), "m": pc.Dirichlet(0.0)},
    },
)

points = np.random.default_rng(0).uniform(0, length, (1000, 1))
reference = pc.Reference(points, exact(torch.tensor(points).T).T, components=(0, 1))
