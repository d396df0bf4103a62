"""How far the estimates of a surrogate are from the true errors, at unseen parameters: one row per query.

python benchmarks/family_estimates.py --out family-estimates.csv
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import torch

import pcpinn as pc
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.nonlinear import solve_newton
from pcpinn.mesh.generate import generate_mesh

SQUARE = pc.Rectangle((0, 0), (1, 1))
WALLS = {name: pc.Dirichlet(0.0) for name in ("left", "right", "bottom", "top")}


def diffusion(mu):
    """-div(exp(sum of mu_k psi_k) grad u) = 1, four cosines."""

    def coefficient(x):
        waves = [(1, 0), (0, 1), (1, 1), (2, 0)]
        psi = [torch.cos(i * torch.pi * x[0]) * torch.cos(j * torch.pi * x[1]) / (i**2 + j**2) ** 0.5 for i, j in waves]
        return torch.exp(mu @ torch.stack(psi))

    return pc.Problem(SQUARE, flux=lambda x, u: coefficient(x) * u.grad, source=lambda x, u: -1.0, boundary=WALLS)


def nonlinear(a, b):
    """Diffusion that grows with u, and a cubic reaction."""
    return pc.Problem(
        SQUARE,
        flux=lambda x, u: (1 + b * u.value**2) * u.grad,
        source=lambda x, u: a * u.value**3 - 20.0 * torch.sin(torch.pi * x[0]),
        boundary={**WALLS, "right": pc.Robin(b, 1.0)},
    )


def shape(r, h):
    """A trapezium of changing slope and height."""
    problem = pc.Problem(
        SQUARE,
        flux=lambda x, u: u.grad,
        source=lambda x, u: -x[0],
        boundary={**WALLS, "left": pc.Dirichlet(lambda x: x[1]), "top": pc.Robin(1.0, 2.0)},
    )
    return pc.mapped(problem, lambda X: torch.stack([X[0] * (1 + r * X[1]), X[1] * h]))


CASES = {
    "diffusion": (pc.Family(diffusion, mu=pc.Range(-1, 1, count=4)), {"width": 24}),
    "nonlinear": (pc.Family(nonlinear, a=pc.Range(0, 10), b=pc.Range(0.1, 2, log=True)), {"width": 16, "depth": 2}),
    "shape": (pc.Family(shape, r=pc.Range(-0.5, 0.5), h=pc.Range(0.5, 2)), {"width": 16, "depth": 2}),
}


def rows(name, accuracy, queries, time_limit):
    """Train a case and compare estimates with direct solves on a finer mesh, of another degree."""
    family, choices = CASES[name]
    started = time.perf_counter()
    surrogate = pc.solve(family, accuracy=accuracy, time_limit=time_limit, **choices)
    took = time.perf_counter() - started
    mu = family.sample(queries, seed=2_026)
    mesh = generate_mesh(SQUARE, cells=(24, 24))
    for m in mu:
        started = time.perf_counter()
        found = surrogate.estimate(m)
        seconds = time.perf_counter() - started
        equation = DiscreteEquation(FiniteElements(family.at(m), mesh, 3))
        u = solve_newton(equation)
        true = equation.norm(surrogate(equation.nodes.points, m.numpy()) - u) / equation.norm(u)
        yield {
            "case": name,
            "accuracy": accuracy,
            "set_up_s": round(took, 1),
            "iterations": surrogate.result["iterations"],
            "weights": surrogate.result["parameters"],
            "dofs": surrogate.result["dofs"],
            "p95": surrogate.verdict.estimate,
            "reached": surrogate.verdict.reached,
            "estimate": found.total,
            "training": found.training,
            "discretisation": found.discretisation,
            "true": true,
            "estimate_s": round(seconds, 4),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--accuracy", type=float, default=2e-2)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--time-limit", type=float, default=100.0)
    parser.add_argument("--out", type=Path, default=Path("family-estimates.csv"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = [r for c in options.cases for r in rows(c, options.accuracy, options.queries, options.time_limit)]
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    for case in options.cases:
        own = [r for r in found if r["case"] == case]
        true, ratio = (np.array(v) for v in ([r["true"] for r in own], [r["estimate"] / r["true"] for r in own]))
        print(
            f"{case}: set-up {own[0]['set_up_s']} s, true error mean {true.mean():.1e}, 95 % {np.quantile(true, 0.95):.1e}, "
            f"worst {true.max():.1e}; estimate / true {ratio.min():.2f} to {ratio.max():.2f}; "
            f"estimate {1e3 * np.median([r['estimate_s'] for r in own]):.0f} ms"
        )


if __name__ == "__main__":
    main()
