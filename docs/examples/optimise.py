"""Where to put the heater so that a corner of the plate is warm and its middle is not: gradients through the surrogate."""

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from common import family
from common import surrogate as trained

MIDDLE = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
WARM = torch.tensor([[0.75, 0.3]], dtype=torch.float64)


def objective(surrogate, mu):
    """Temperature at one place, less a part of that in the middle."""
    return surrogate(WARM, mu)[0] - 0.6 * surrogate(MIDDLE, mu)[0]


def optimise(surrogate, k=1.0, steps=60, rate=0.03):
    """Gradient ascent in the place of the heater, inside its range; returns all places."""
    place = torch.tensor([0.5, 0.5], dtype=torch.float64, requires_grad=True)
    path = [place.detach().clone()]
    for _ in range(steps):
        (slope,) = torch.autograd.grad(objective(surrogate, torch.cat([place, torch.tensor([k]).double()])), place)
        with torch.no_grad():
            place += rate * slope / (slope.norm() + 1e-12) * min(1.0, 10 * float(slope.norm()))
            place.clamp_(0.2, 0.8)
        path.append(place.detach().clone())
    return torch.stack(path)


def direct(mu):
    """The same objective by finite elements, for comparison."""
    from pcpinn.discretize.finite_elements import FiniteElements
    from pcpinn.family.direct import direct_solution
    from pcpinn.mesh.generate import generate_mesh

    problem = family.at(mu)
    form = FiniteElements(problem, generate_mesh(problem.domain, cells=(16, 16)), 3)
    warm, middle = form.interpolate(direct_solution(form), np.concatenate([WARM.numpy(), MIDDLE.numpy()]))[:, 0]
    return warm - 0.6 * middle


def main(time_limit=40.0, picture="docs/images/family-optimise.png"):
    """Returns the objective of the surrogate and of a direct solve at the best place."""
    surrogate = trained(time_limit)
    path = optimise(surrogate)
    best = torch.cat([path[-1], torch.tensor([1.0]).double()])
    found, true = float(objective(surrogate, best).detach()), direct(best.numpy())
    print(f"best place {path[-1].tolist()}: surrogate {found:.4f}, direct solve {true:.4f}")
    if picture:
        import matplotlib.pyplot as plt

        line = np.linspace(0.2, 0.8, 41)
        grid = [[float(objective(surrogate, torch.tensor([a, b, 1.0]).double()).detach()) for a in line] for b in line]
        figure, axes = plt.subplots(figsize=(5, 4))
        shown = axes.contourf(line, line, grid, 20)
        axes.plot(*path.T.numpy(), "w.-", label="gradient ascent")
        axes.plot(*path[-1].numpy(), "r*", markersize=12, label="best place")
        axes.set(xlabel="x of the heater", ylabel="y of the heater", title="objective through the surrogate")
        axes.legend()
        figure.colorbar(shown)
        figure.savefig(picture, dpi=110, bbox_inches="tight")
        plt.close(figure)
    return found, true


if __name__ == "__main__":
    main()
