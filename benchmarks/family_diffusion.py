"""One network for -div(exp(sum mu_k psi_k) grad u) = 1 with 4 and 16 parameters, against direct solves at unseen ones.

    python benchmarks/family_diffusion.py 100

The argument is the number of iterations; figures are in docs/families.md.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch

import pcpinn as pc
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.mesh.generate import generate_mesh

SIDES = ("left", "right", "bottom", "top")


def family(p: int) -> Any:
    """With p modes of the logarithm of the conductivity, the longest first."""
    pairs = sorted(((i, j) for i in range(6) for j in range(6) if i + j), key=lambda t: (t[0] ** 2 + t[1] ** 2, t))[:p]

    def psi(x: torch.Tensor) -> torch.Tensor:
        waves = [torch.cos(i * torch.pi * x[0]) * torch.cos(j * torch.pi * x[1]) for i, j in pairs]
        return torch.stack([w / (i * i + j * j) ** 0.5 for w, (i, j) in zip(waves, pairs, strict=True)])

    def make(mu: torch.Tensor) -> pc.Problem:
        return pc.Problem(
            pc.Rectangle((0, 0), (1, 1)),
            flux=lambda x, u: torch.exp(mu @ psi(x)) * u.grad,
            source=lambda x, u: -1.0,
            boundary={s: pc.Dirichlet(0.0) for s in SIDES},
            name=f"diffusion-{p}",
        )

    return pc.Family(make, mu=pc.Range(-1, 1, count=p))


def measure(label: str, p: int, **options: Any) -> None:
    """Train, compare, print a line."""
    of = family(p)
    s = pc.solve(of, mesh=pc.Meshing(cells=(16, 16), degree=2), validation=128, **options)
    mu = of.sample(48, seed=12345)
    estimates = s.estimate(mu).total
    mesh, true = generate_mesh(of.base.domain, cells=(24, 24)), []
    for m in mu:
        system = linear_system(FiniteElements(of.at(m), mesh, 3))
        apart = s(system.nodes.points, m.numpy()) - system.solution
        true.append(system.norm(apart) / system.norm(system.solution))
    ratio = estimates / np.array(true)
    print(
        f"{label}: trained {s.result['time']['train_s']:.1f} s, {s.result['iterations']} iterations, true error mean "
        f"{np.mean(true):.2e}, 95 % {np.quantile(true, 0.95):.2e}, worst {np.max(true):.2e}, "
        f"estimate / true {ratio.min():.2f} to {ratio.max():.2f}",
        flush=True,
    )


if __name__ == "__main__":
    began, its = time.perf_counter(), int(sys.argv[1]) if len(sys.argv) > 1 else 100
    small, large = pc.MLP(width=64, depth=4, features="none"), pc.MLP(width=80, depth=4, features="none")
    measure("4 parameters", 4, accuracy=None, iterations=its, network=small, samples=96)
    measure("16 parameters", 16, accuracy=None, iterations=its * 6 // 5, network=large, samples=160)
    print(f"{time.perf_counter() - began:.0f} s in all")
