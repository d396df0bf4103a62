"""Study landscape: the error around the paths that PINN and PCPINN take, in the plane of each path's two main directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..baselines.pinn import strong_loss
from ..catalog import find_entry
from ..discretize.system import linear_system
from ..network.dense import DenseNetwork
from ..solve.build import make_discretisation, make_mesh, make_network
from ..solve.loss import preconditioned_loss
from ..train import Loss
from .follow import even_marks, follow
from .study import STUDIES, Context, Data, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGIN = 0.25  # of the path's extent, on each side


class Plane:
    """The plane through the end of a path that holds most of it: principal components of its points.

    Attributes:
        centre: (p,) the last point; directions: (2, p), orthonormal; captured: share of the path's variance in the plane.
        path: (n, 2) coordinates of its points.
    """

    def __init__(self, path: Tensor) -> None:
        self.centre = path[-1]
        moved = path - self.centre
        _, sizes, rows = torch.linalg.svd(moved - moved.mean(dim=0), full_matrices=False)
        self.directions = rows[:2]
        self.captured = float(sizes[:2].square().sum() / sizes.square().sum())
        self.path = (moved @ self.directions.T).cpu().numpy()

    def grid(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates along both directions, around the path."""
        lower, upper = self.path.min(axis=0), self.path.max(axis=0)
        room = _MARGIN * np.maximum(upper - lower, 1e-12)
        first, second = (np.linspace(a, b, count) for a, b in zip(lower - room, upper + room, strict=True))
        return first, second

    def point(self, a: float, b: float) -> Tensor:
        """Weights at coordinates."""
        return self.centre + a * self.directions[0] + b * self.directions[1]


def compute(context: Context) -> Data:
    """Train the same network both ways from the same weights, then look around."""
    sizes, entry = context.sizes, find_entry("wave1d-c")
    _, settings = entry.resolve("paper", {})
    settings = settings.updated(
        {
            "cells": (sizes["cells"],),
            "steps": 4 * sizes["cells"],
            "degree": 3,
            "width": sizes["width"],
            "feature_high": sizes["feature_high"],  # beyond what the mesh resolves, networks oscillate between nodes
            "seed": context.seed,
            "device": context.device.type,
            "precision": "float64",
            "fill_factor": 30.0,
        }
    )
    problem, reference = entry.problem(closed=0.0), entry.reference(closed=0.0)
    every = max(1, len(reference.points) // sizes["test"])
    like = torch.empty(0, dtype=torch.float64, device=context.device)
    at = torch.as_tensor(reference.points[::every]).to(like)
    exact = torch.as_tensor(reference.values[::every, 0]).to(like)
    mesh = make_mesh(problem, settings)
    system = linear_system(make_discretisation(problem, mesh, settings))
    marks = even_marks(sizes["iterations"], sizes["marks"])
    rows: list[dict[str, Any]] = []
    surface: list[dict[str, Any]] = []
    captured: dict[str, float] = {}
    strong = entry.resolve("paper", {"collocation": sizes["points"], "seed": context.seed}, "pinn")[1]
    for method, make, own in (("pinn", strong_loss, strong), ("pcpinn", preconditioned_loss, settings)):
        network = make_network(problem, mesh, settings)
        loss: Loss = make(system, network, own)
        path: list[Tensor] = []

        def observe(iteration: int, network: DenseNetwork = network, path: list[Tensor] = path) -> None:
            path.append(network.theta.detach().clone())

        adam = settings.optimiser
        follow(loss, adam, marks, observe, context.progress, f"training {method}", context.seed)

        def error(theta: Tensor, network: DenseNetwork = network) -> float:
            with torch.no_grad():
                return float((network.evaluate(theta, at)[:, 0] - exact).norm() / exact.norm())

        plane = Plane(torch.stack(path))
        captured[method] = plane.captured
        for mark, theta, (a, b) in zip(marks, path, plane.path, strict=True):
            rows.append({"method": method, "iteration": mark, "first": a, "second": b, "l2re": error(theta)})
        first, second = plane.grid(sizes["grid"])
        for k, a in enumerate(first):
            context.progress.count(f"landscape {method}", k, len(first))
            surface += [
                {"method": method, "first": float(a), "second": float(b), "l2re": error(plane.point(a, b))}
                for b in second
            ]
    return {"rows": rows, "surface": surface, "summary": {"captured": captured, "iterations": sizes["iterations"]}}


def words(data: Data) -> list[str]:
    """Where each path ends, and what lies around it."""
    lines = []
    for method, share in data["summary"]["captured"].items():
        path = [row["l2re"] for row in data["rows"] if row["method"] == method]
        around = [s["l2re"] for s in data["surface"] if s["method"] == method and s["l2re"] is not None]
        low = sum(v < 0.1 for v in around) / max(1, len(around))
        lines.append(
            f"{method}: L2RE {path[0]:.2e} -> {path[-1]:.2e} in {data['summary']['iterations']} iterations, lowest "
            f"{min(path):.2e}; {100 * low:.0f} % of the plane around its path is below 0.1; the plane holds {100 * share:.0f} % "
            "of the path's variance."
        )
    return lines


def draw(data: Data) -> Figure:
    """One landscape per method, of one scale of colours."""
    from matplotlib.colors import LogNorm

    from ..bench.graphics import new_figure

    figure = new_figure(9.0, 3.8)
    values = [s["l2re"] for s in data["surface"] if s["l2re"]] + [row["l2re"] for row in data["rows"]]
    scale = LogNorm(max(min(values), 1e-4), min(max(values), 10.0))
    axes = figure.subplots(1, 2)
    for ax, (method, title) in zip(axes, (("pinn", "PINN"), ("pcpinn", "PCPINN")), strict=True):
        points = [s for s in data["surface"] if s["method"] == method]
        first, second = (np.unique([s[k] for s in points]) for k in ("first", "second"))
        z = np.array([s["l2re"] if s["l2re"] is not None else np.nan for s in points]).reshape(len(first), len(second))
        image = ax.pcolormesh(first, second, z.T, norm=scale, cmap="RdYlBu_r", shading="nearest", rasterized=True)
        path = [row for row in data["rows"] if row["method"] == method]
        ax.plot([r["first"] for r in path], [r["second"] for r in path], ".-", color="#b91c1c", ms=3, lw=0.5)
        ax.plot(path[-1]["first"], path[-1]["second"], "*", color="black", ms=8)
        ax.set(title=f"{title}: L2RE {path[-1]['l2re']:.1e}", xlabel="first direction", ylabel="second direction")
        ax.grid(False)
    figure.colorbar(image, ax=axes, label="L2RE")
    return figure


STUDY = Study(
    "landscape",
    "The error landscape of PINN and PCPINN along their paths",
    "on the one-dimensional wave equation the ordinary PINN wanders in a zone of high error, with long plateaus, while the "
    "preconditioned one dives down and converges (its first figure; how its plane is chosen it does not say).",
    {
        "cells": 12,
        "width": 32,
        "feature_high": 2.0,
        "points": 512,
        "iterations": 1500,
        "marks": 76,
        "grid": 25,
        "test": 1000,
    },
    {
        "cells": 25,
        "width": 64,
        "feature_high": 5.0,
        "points": 8192,
        "iterations": 20_000,
        "marks": 401,
        "grid": 61,
        "test": 5000,
    },
    compute,
    words,
    draw,
    order=40,
)
STUDIES.register(STUDY)
