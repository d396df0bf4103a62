"""The three parts of a march's error over time: against the discrete march, and of that against the reference."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ...discretize.newton import Solve, newton
from ...discretize.window import MarchSpace, Window, WindowMatrix
from ...files import write_atomically
from ...network.marched import Plan
from ...precondition.refined import RefinedSolver
from ...solution.reference import Reference
from .kept import KeptP

_DISCRETE_TOLERANCE = 1e-10
_DISCRETE_STEPS = 30
_DISCRETE_GOOD = 1e-4  # a last correction that leaves the discrete solution good enough to compare with
_RELINEARISED = 5


class MarchErrors:
    """Marches the discrete solution beside the network, which never sees it, and compares.

    Args:
        space, plan, times: of the march.
        reference: what both are compared with.
        discrete: whether to march the discrete solution; without it only the total is known.
        remembered: how many windows back `arrays` may be asked for.

    Attributes:
        windows: how many have been compared.
    """

    def __init__(
        self,
        space: MarchSpace,
        plan: Plan,
        times: np.ndarray,
        reference: Reference | None,
        discrete: bool,
        remembered: int = 1,
    ) -> None:
        self.space, self.plan, self.reference = space, plan, reference
        self.windows, self._remembered = 0, remembered
        self._after: dict[int, tuple[Tensor, int]] = {}  # windows -> the end of the discrete march by then, and sums
        self._known: Tensor | None = space.initial_values()[None].repeat(plan.steps.history, 1) if discrete else None
        self._sums: list[tuple[float, float, float]] = []  # time, ||u - u_h||^2, ||u_h||^2
        self._at_reference: np.ndarray | None = None
        self._rows: list[dict[str, float]] = []
        if reference is not None and discrete:
            self._prepare(reference, times)

    def _prepare(self, reference: Reference, times: np.ndarray) -> None:
        """Where in space and time the reference is."""
        places, self._place = np.unique(reference.points[:, :-1], axis=0, return_inverse=True)
        self._place = self._place.ravel()
        self._matrices = [s.interpolation(places) for s in self.space.form.space.scalar]
        self._at_reference = np.full((len(reference.points), self.space.components), np.nan)
        self._at_start = reference.points[:, -1] <= times[0] * (1 + 1e-12) + 1e-14
        self._compare_start(self.space.initial_values())

    def _compare_start(self, values: Tensor) -> None:
        """Values (n,) at the start."""
        if self._at_reference is not None and self._at_start.any():
            self._at_reference[self._at_start] = self._in_space(values)[self._place[self._at_start]]

    def _in_space(self, u: Tensor) -> np.ndarray:
        """(n,) -> (places, C)."""
        numbers, offsets = u.cpu().numpy(), self.space.form.space.offsets
        return np.stack([m @ numbers[a:b] for m, a, b in zip(self._matrices, offsets, offsets[1:], strict=False)], 1)

    def add(self, window: Window, U: Tensor, kept: KeptP) -> None:
        """The network's values U (L, n) in a window: march the discrete solution there, and compare."""
        self.windows += 1
        if self._known is None:
            return
        other = Window(self.space, window.layers, self._known)
        X = self._solve(other, U + (self._known[-1] - window.known[-1]), kept)
        if X is None:
            self._known, self._at_reference = None, None
            self._sums = []
            return
        weights = torch.from_numpy(self.space.weights).to(U.device)
        times = window.layers.layers
        for t, u, x in zip(times, U, X, strict=True):
            self._sums.append((float(t), float((weights * (u - x) ** 2).sum()), float((weights * x**2).sum())))
        if window.layers.first and (values := self.space.first_values(self.plan.steps, X)) is not None:
            self._compare_start(values)
            other = Window(self.space, window.layers, torch.cat([other.known[:-1], values[None]]))
        if self._at_reference is not None:
            self._interpolate(other, X)
        self._known = torch.cat([other.known, X])[-self.plan.steps.history :]
        self._after[self.windows] = (self._known, len(self._sums))
        self._after.pop(self.windows - self._remembered - 1, None)

    def arrays(self, windows: int) -> dict[str, np.ndarray]:
        """What was known after so many windows, for a checkpoint: a resumed march compares with the very same numbers."""
        if windows not in self._after:
            return {}
        known, count = self._after[windows]
        result = {"known": known.cpu().numpy(), "sums": np.array(self._sums[:count], dtype=np.float64).reshape(-1, 3)}
        return result if self._at_reference is None else {**result, "reference": self._at_reference}

    def restore(self, arrays: Mapping[str, np.ndarray], windows: int) -> None:
        """Go on after so many windows, where the arrays are of this march and of this reference; else from the beginning."""
        if self._known is None or "known" not in arrays or arrays["known"].shape != tuple(self._known.shape):
            return
        theirs, ours = arrays.get("reference"), self._at_reference
        if (theirs is None) != (ours is None) or (
            theirs is not None and ours is not None and theirs.shape != ours.shape
        ):
            return
        self._known = torch.from_numpy(arrays["known"].copy()).to(self._known)
        self._sums = [(float(t), float(e), float(u)) for t, e, u in arrays["sums"]]
        self._at_reference = None if theirs is None else theirs.copy()
        self.windows = windows
        self._after[windows] = (self._known, len(self._sums))

    def _solve(self, window: Window, X: Tensor, kept: KeptP) -> Tensor | None:
        """The discrete solution by the present P, or by Newton's method with its own; None if neither converges."""

        def invert(matrix: WindowMatrix) -> Solve[Tensor]:
            return RefinedSolver(exact.build(matrix).on(matrix), matrix, 1).apply

        exact = kept.exact
        found = newton(
            window,
            X,
            invert,
            _DISCRETE_TOLERANCE,
            _DISCRETE_STEPS,
            damped=False,
            at_hand=kept.at_hand,
            refresh=_RELINEARISED,
        )
        return found.u if found.converged or found.corrections[-1] < _DISCRETE_GOOD else None

    def _interpolate(self, window: Window, X: Tensor) -> None:
        """Values of the discrete solution at the reference's points of this window."""
        assert self.reference is not None
        assert self._at_reference is not None
        layers, scheme = window.layers, window.layers.scheme
        t = self.reference.points[:, -1]
        every = torch.cat([window.known, X])
        for k, start in enumerate(layers.times[:-1]):
            end = layers.times[k + 1]
            own = np.flatnonzero((t > start + 1e-12 * abs(end)) & (t <= end + 1e-12 * abs(end)))
            own = own[t[own] > start]
            for moment in np.unique(t[own]):
                here = own[t[own] == moment]
                place = np.array([min(1.0, (moment - start) / (end - start))])
                now = scheme.starter if layers.first and k == 0 else scheme
                table = now.interpolation(place)[0]
                at = layers.history - now.history + k * scheme.order
                u = torch.from_numpy(table).to(every) @ every[at : at + len(table)]
                self._at_reference[here] = self._in_space(u)[self._place[here]]

    def finish(self, u: np.ndarray) -> None:
        """The network's values (n, C) at the reference's points: errors at each of its times."""
        assert self.reference is not None
        t, columns = self.reference.points[:, -1], list(self.reference.components)
        r = self.reference.values
        for moment in np.unique(t):
            own = t == moment
            size = np.linalg.norm(r[own]) or 1.0
            row = {"t": float(moment), "total": float(np.linalg.norm(u[own][:, columns] - r[own]) / size)}
            if self._at_reference is not None and np.isfinite(self._at_reference[own]).all():
                h = self._at_reference[own][:, columns]
                row["training"] = float(np.linalg.norm(u[own][:, columns] - h) / size)
                row["discretisation"] = float(np.linalg.norm(h - r[own]) / size)
            self._rows.append(row)

    def totals(self) -> dict[str, float | None]:
        """Relative errors over all times: training, and discretisation if there is a reference."""
        result: dict[str, float | None] = {"training": None, "discretisation": None}
        if self._sums:
            table = np.array(self._sums)
            result["training"] = float(np.sqrt(table[:, 1].sum() / (table[:, 2].sum() or 1.0)))
        if self._at_reference is not None and self.reference is not None and np.isfinite(self._at_reference).all():
            r = self.reference.values
            h = self._at_reference[:, list(self.reference.components)]
            result["discretisation"] = float(np.linalg.norm(h - r) / np.linalg.norm(r))
        return result

    def table(self, rows: int) -> list[dict[str, float]]:
        """The errors by time, thinned to at most this many."""
        if len(self._rows) <= rows:
            return self._rows
        return [self._rows[k] for k in np.linspace(0, len(self._rows) - 1, rows).astype(int)]

    def write(self, path: Path) -> None:
        """errors.csv: t, total, training, discretisation, each relative to the reference at that time."""
        out = io.StringIO()
        writer = csv.DictWriter(out, ["t", "total", "training", "discretisation"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self._rows)
        if self._rows:
            write_atomically(path, out.getvalue())
