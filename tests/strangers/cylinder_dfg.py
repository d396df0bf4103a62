"""Steady flow around a cylinder in a channel (DFG benchmark 2D-1, Reynolds number 20), in SI units.

Channel 2.2 x 0.41, cylinder of radius 0.05 at (0.2, 0.2), mean inflow 0.2, viscosity 1e-3; nothing is asked of the outflow,
which fixes the pressure. Known: drag coefficient 5.57953523, lift coefficient 0.0106189, pressure difference 0.11752017.
Truth: scikit-fem with P4 / P3 elements and 161 415 unknowns, by make_cylinder_dfg.py. It finds 5.57953513, 0.01061894 and
0.11751994, and differs from a mesh with 62 977 unknowns by 3e-6 (u1), 1.2e-5 (u2) and 1.0e-5 (p). Such differences shrink
five- to eightfold from mesh to mesh, so that its own error is about 3e-6.
"""

from pathlib import Path

import numpy as np
import torch

import pcpinn as pc

nu = 1e-3


def inflow(x):
    return torch.stack([1.2 * x[1] * (0.41 - x[1]) / 0.41**2, 0 * x[1]])


problem = pc.Problem(
    pc.Rectangle((0, 0), (2.2, 0.41)) - pc.Disk((0.2, 0.2), 0.05, name="cylinder"),
    fields=[pc.Field("u", components=2), pc.Field("p", lower=1)],
    flux=lambda x, u, p: (nu * u.grad - p.value * torch.eye(2, dtype=x.dtype), None),
    source=lambda x, u, p: (u.grad @ u.value, u.grad.trace()),
    boundary={
        "left": {"u": pc.Dirichlet(inflow)},
        "right": {"u": pc.Neumann(0.0)},
        "bottom": {"u": pc.Dirichlet(0.0)},
        "top": {"u": pc.Dirichlet(0.0)},
        "cylinder": {"u": pc.Dirichlet(0.0)},
    },
)

table = np.load(Path(__file__).with_name("cylinder_dfg.npz"))
reference = pc.Reference(
    table["points"], table["values"], components=(0, 1, 2), kind="certified", error=float(table["difference"].max())
)
