"""Heater and conductivity from noisy temperatures: Gauss-Newton and a posterior through the surrogate, nothing is solved."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from common import family
from common import surrogate as trained

import pcpinn as pc

TRUTH = np.array([0.42, 0.61, 1.3])
NOISE = 0.005


def data(seed=0):
    """25 temperatures of the truth, by finite elements on a finer mesh, with noise."""
    from pcpinn.discretize.finite_elements import FiniteElements
    from pcpinn.family.direct import direct_solution
    from pcpinn.mesh.generate import generate_mesh

    line = np.linspace(0.15, 0.85, 5)
    points = np.stack([g.ravel() for g in np.meshgrid(line, line)], axis=1)
    problem = family.at(TRUTH)
    form = FiniteElements(problem, generate_mesh(problem.domain, cells=(16, 16)), 3)
    u = form.interpolate(direct_solution(form), points)[:, 0]
    return points, u + NOISE * np.random.default_rng(seed).normal(size=len(u))


def main(time_limit=40.0, picture="docs/images/family-calibration.png"):
    """Returns the calibration."""
    surrogate = trained(time_limit)
    found = pc.calibrate(surrogate, *data(), noise=NOISE)
    for name, mean, std, true in zip(found.labels, found.mean, found.std, TRUTH, strict=True):
        print(f"{name} = {mean:.4f} +- {std:.4f} (truth {true})")
    print(f"{found.steps} steps; the surrogate's own error counts as noise of {found.model_error:.1e}")
    if picture:
        import matplotlib.pyplot as plt

        samples = found.sample(4000)
        figure, axes = plt.subplots(1, 2, figsize=(8, 3.5))
        for panel, (i, j) in zip(axes, ((0, 1), (0, 2)), strict=True):
            panel.plot(samples[:, i], samples[:, j], ".", markersize=1)
            panel.plot(TRUTH[i], TRUTH[j], "r*", markersize=12, label="truth")
            panel.set(xlabel=found.labels[i], ylabel=found.labels[j])
            panel.legend()
        figure.suptitle("posterior from 25 noisy temperatures")
        figure.savefig(picture, dpi=110, bbox_inches="tight")
        plt.close(figure)
    return found


if __name__ == "__main__":
    main()
