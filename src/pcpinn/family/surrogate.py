"""The answer of a family: a function of place and parameters, with an error for every query."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..errors import PcpinnError, PcpinnWarning
from ..invert.nodal_files import nodal_u
from ..network.parametric import OneSet
from ..problem.mapped import MappedProblem
from ..solution.folder import create_run, finish_run
from ..solution.quantity import Quantities, Quantity
from ..solution.reference import ERRORS, Reference
from ..solution.result import Result
from ..solution.solution import Solution
from ..solution.verdict import Verdict
from ..solve.linear import solve
from ..solve.method import METHODS
from ..solve.settings import Settings, resolve
from .corrected_answer import CorrectedSolution
from .estimate import Estimator, QueryError, wrong_between_nodes
from .family import Family, Parameters
from .slider import write_slider

_REFINE_ITERATIONS = 40
_BESIDE = 1e-6  # of a side of the box: rounding
Precision = Literal["float64", "float32"]


@dataclass(repr=False)
class Surrogate(Solution):
    """One network for a whole family, as a run records it.

    Attributes:
        parameters: names and ranges.
        anchors: (a, K) scaled parameters with a P of their own.
        family: the problems; None for a surrogate loaded from disk, where functions are not kept: give it to `estimate` and
            `refine`, or set it.
    """

    parameters: Parameters = field(default_factory=lambda: Parameters({}))
    anchors: Tensor = field(default_factory=lambda: torch.empty(0))
    family: Family | None = None

    def __repr__(self) -> str:
        named = ", ".join(self.parameters.named)
        what = f"{self.result.get('problem', 'family')}: {', '.join(self.names)}"
        return f"<Surrogate of {what} for all {named}; {self.verdict.message}>"

    def __call__(  # type: ignore[override]
        self, x: Any, mu: Any = None, field: str | None = None, precision: Precision | None = None
    ) -> Any:
        """Values at points x (n, d) for parameters mu: (n,) for one scalar, else (n, components).

        Args:
            x: NumPy array, nested list or torch tensor.
            mu: (K,) for all points, (n, K) one row per point, or a dict by name. One point with many rows of mu, too.
            field: only this field.
            precision: float32 evaluates the layers in single precision: faster, with rounding that no estimate contains, from
                1e-7 of the values to 1e-3 where large weights of a last layer cancel, as those of a superposition do. For values
                alone, with one set of parameters for all points.

        Torch in (either of them), torch out, differentiable in both.
        """
        if mu is None:
            raise PcpinnError("a surrogate needs parameters", "call surrogate(x, mu), or surrogate.at(mu)(x)")
        theta, columns = self.network.theta, list(self._columns(field))
        wanted = isinstance(x, Tensor) or isinstance(mu, Tensor)
        z = self.parameters.scaled(self.parameters.vector(mu)).to(theta)
        try:
            points = (
                x.to(theta) if isinstance(x, Tensor) else torch.as_tensor(np.asarray(x, dtype=np.float64)).to(theta)
            )
        except (ValueError, TypeError) as error:
            raise PcpinnError(f"{x!r} are not points", "give one row of coordinates per point") from error
        if points.ndim != 2 or points.shape[1] != self.mesh.dimension:
            raise PcpinnError(
                f"points have shape {tuple(points.shape)}, expected (n, {self.mesh.dimension})",
                "give one row per point",
            )
        self._warn_outside(points)
        z = z[None] if z.ndim == 1 else z
        rows = max(len(points), len(z))
        if len(points) not in (1, rows) or len(z) not in (1, rows):
            raise PcpinnError(
                f"{len(points)} points and {len(z)} sets of parameters", "give as many of each, or one of either"
            )
        one = self.network if len(z) == 1 and isinstance(self.network, OneSet) else None
        if precision is not None:
            self._check_precision(precision, wanted, one is not None)
        with torch.set_grad_enabled(wanted and torch.is_grad_enabled()):
            if one is not None and not wanted:
                values = one.query_one(z[0], points, None if precision is None else getattr(torch, precision))
            elif one is not None:
                values = one.for_one(z[0], points)
            else:
                values = self.network(torch.cat([z.expand(rows, -1), points.expand(rows, -1)], dim=1))
        values = values[:, columns[0]] if len(columns) == 1 else values[:, columns]
        return values if wanted else values.double().cpu().numpy()

    def at(self, mu: Any) -> Solution:
        """The solution for parameters: a perceptron of the place alone, with all that a `Solution` offers.

        Its errors are estimated where the family is known.
        """
        vector = self._one(mu)
        z = self.parameters.scaled(vector)
        network = self.network.at(z)
        problem = None if self.family is None else self.family.at(vector)
        errors: dict[str, Any] = dict.fromkeys(ERRORS)
        if self.family is not None:
            found = self.estimate(vector)
            errors |= {k: getattr(found, k) for k in ("training", "discretisation")} | {"estimate": found.total}
        named = {n: vector[s].tolist() for n, s in self.parameters.columns.items()}
        kept = {k: v for k, v in self.result.items() if k not in ("family", "verdict")}
        result = Result(
            {
                **kept,
                "errors": errors,
                "verdict": Verdict(estimate=errors["estimate"]).to_dict(),
                "parameters_at": named,
            }
        )
        return Solution(network, self.fields, self.mesh, result, self.history, self._single_settings(), problem)

    def estimate(self, mu: Any, family: Family | None = None) -> QueryError:
        """The relative L2 error of a query without solving it: total, and by part; arrays for several rows of mu.

        Args:
            mu: parameters.
            family: the problems, for a surrogate that was loaded from disk.
        """
        own = self._family(family)
        return self._estimator(own).query(self.parameters.scaled(self.parameters.vector(mu)))

    def refine(self, mu: Any, accuracy: float, family: Family | None = None, **choices: Any) -> Solution:
        """The solution for parameters to an accuracy: a few Gauss-Newton steps from the surrogate's weights.

        On the surrogate's mesh if that is fine enough for the accuracy, else on one that is adapted from it.

        Args:
            mu: parameters.
            accuracy: relative L2 error.
            family: the problems, for a surrogate that was loaded from disk.
            choices: as of `pcpinn.solve`.
        """
        own, vector = self._family(family), self._one(mu)
        problem, settings = own.at(vector), Settings.from_dict(self.settings)
        start = replace(self.at(vector), problem=problem)
        found = self.estimate(vector, own)
        between = wrong_between_nodes(found.total, found.training, found.discretisation)
        if (found.discretisation > 0.5 * accuracy or between) and not problem.over_time:
            return solve(problem, accuracy=accuracy, start=start, **choices)
        given: dict[str, Any] = {
            "mesh": settings.mesh,
            "network": self._single_network(),
            "preconditioner": settings.preconditioner,
            "iterations": _REFINE_ITERATIONS,
            "tolerance": 0.2 * accuracy,
            **({} if settings.time is None else {"time": settings.time}),
        }
        return solve(problem, accuracy=accuracy, on=self.mesh, start=start, **given | choices)

    def corrected(self, mu: Any, rounds: int = 1, family: Family | None = None) -> Solution:
        """The discrete solution for parameters, by Krylov steps from the network's values with the P that all parameters share.

        It costs a matrix of these parameters and a few solves with P, tens of milliseconds in place of one, and leaves little
        but the error of the mesh. It is made of nodal values and has no derivatives by x and mu, as `surrogate(x, mu)` has.

        Args:
            mu: parameters.
            rounds: of so many steps as the training takes (`krylov_steps`); of a nonlinear family, steps of Newton's method.
            family: the problems, for a surrogate that was loaded from disk.
        """
        if rounds < 1:
            raise PcpinnError(f"rounds={rounds}", "give 1 or more; surrogate.at(mu) is the network itself")
        own, vector = self._family(family), self._one(mu)
        form, values, found = self._estimator(own).corrected(self.parameters.scaled(vector), rounds)
        errors = dict.fromkeys(ERRORS) | found
        named = {n: vector[s].tolist() for n, s in self.parameters.columns.items()}
        kept = {k: v for k, v in self.result.items() if k not in ("family", "verdict")}
        facts = {"errors": errors, "verdict": Verdict(estimate=found["estimate"]).to_dict(), "parameters_at": named}
        network = nodal_u(form, values.cpu().numpy())
        settings, problem = self._single_settings(), own.at(vector)
        result = Result({**kept, **facts})
        return CorrectedSolution(network, self.fields, self.mesh, result, self.history, settings, problem)

    def place(self, x: Any, mu: Any) -> Any:
        """Where reference points x (n, d) lie for parameters mu, in a family of shapes (`pcpinn.mapped`)."""
        problem = self._family(None).at(self._one(mu))
        if not isinstance(problem, MappedProblem) or problem.map is None:
            return x
        points = x if isinstance(x, Tensor) else torch.as_tensor(np.asarray(x, dtype=np.float64))
        moved = torch.func.vmap(problem.map)(points[:, : problem.dimension])
        moved = torch.cat([moved, points[:, problem.dimension :]], dim=1)
        return moved if isinstance(x, Tensor) else moved.numpy()

    # --- what a Solution offers, at one set of parameters (by default the middle of the ranges) ---------------------------

    def integrate(self, f: Callable[..., Any], on: Any = None, *, mu: Any = None, **options: Any) -> Quantities:
        """As of `at(mu)`."""
        return self._here(mu).integrate(f, on, **options)

    def flux(self, on: str, field: str | None = None, *, mu: Any = None, **options: Any) -> Quantities:
        """As of `at(mu)`."""
        return self._here(mu).flux(on, field, **options)

    def value(self, x: Any, of: Any = None, *, mu: Any = None, **options: Any) -> Quantities:
        """As of `at(mu)`."""
        return self._here(mu).value(x, of, **options)

    def maximum(self, of: Any = None, *, mu: Any = None, **options: Any) -> Quantity:
        """As of `at(mu)`."""
        return self._here(mu).maximum(of, **options)

    def minimum(self, of: Any = None, *, mu: Any = None, **options: Any) -> Quantity:
        """As of `at(mu)`."""
        return self._here(mu).minimum(of, **options)

    def metrics(self, reference: Reference, mu: Any = None) -> dict[str, Any]:
        """As of `at(mu)`."""
        return self._here(mu).metrics(reference)

    def plot(self, path: str | Path | None = None, reference: Reference | None = None, mu: Any = None) -> Any:
        """As of `at(mu)`."""
        return self._here(mu).plot(path, reference)

    def draw_into(self, figure: Any, reference: Any = None) -> np.ndarray:
        """As of `at`, for parameters in the middle of their ranges."""
        return self._here(None).draw_into(figure, reference)

    def slider(self, path: str | Path) -> Path:
        """Write a page with a slider for every parameter; the network is in it, and answers while they move.

        A family of shapes is drawn on its reference domain.

        Raises:
            PcpinnError: for more than two dimensions, many parameters, or a network that the page cannot evaluate.
        """
        estimate = self.verdict.estimate
        known = "" if estimate is None else f" Estimated error for 95 % of the parameters: {estimate:.1e}."
        title, note = str(self.result.get("problem", "family")), f"{', '.join(self.parameters.named)}.{known}"
        return write_slider(Path(path), self.network, self.parameters, self.mesh, self.names, title, note)

    def animate(self, path: str | Path, *, mu: Any = None, **options: Any) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).animate(path, **options)

    def to_vtu(self, path: str | Path, mu: Any = None) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).to_vtu(path)

    def to_pvd(self, path: str | Path, *, mu: Any = None, **options: Any) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).to_pvd(path, **options)

    def to_npz(self, path: str | Path, mu: Any = None) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).to_npz(path)

    def to_xdmf(self, path: str | Path, *, mu: Any = None, **options: Any) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).to_xdmf(path, **options)

    def to_vtkhdf(self, path: str | Path, *, mu: Any = None, **options: Any) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).to_vtkhdf(path, **options)

    def to_onnx(self, path: str | Path, mu: Any = None) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).to_onnx(path)

    def to_pt2(self, path: str | Path, mu: Any = None) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).to_pt2(path)

    def to_csv(self, path: str | Path, *cuts: str, count: int | None = None, mu: Any = None) -> Path:
        """As of `at(mu)`."""
        return self._here(mu).to_csv(path, *cuts, count=count)

    def save(self, folder: str | Path) -> Path:
        """Write JSON, safetensors and CSV into a folder that `pcpinn.load` reads; functions are not kept."""
        folder = Path(folder)
        record = {
            "problem": self.result.get("problem", "family"),
            "kind": "family",
            "fields": [asdict(f) for f in self.fields],
            "settings": self.settings,
            "parameters": self.parameters.to_list(),
            "outside": self.parameters.outside,
        }
        create_run(folder, record, self.mesh)
        finish_run(folder, self.network, self.history, self.result)
        return folder

    # --- inside -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _check_precision(precision: str, wanted: bool, one: bool) -> None:
        """Refuse a precision that is none, or that this query does not read."""
        if precision not in get_args(Precision):
            raise PcpinnError(f"precision={precision!r} is not a choice", f"use {', '.join(get_args(Precision))}")
        if wanted:
            raise PcpinnError(
                f"precision={precision} is for values alone, and torch tensors are asked for derivatives, too",
                "give NumPy arrays, or leave precision out",
            )
        if not one:
            raise PcpinnError(
                f"precision={precision} is for one set of parameters, and a network that is trained",
                "leave precision out",
            )

    def _warn_outside(self, points: Tensor) -> None:
        """Once, about points (n, d) beside the box that the domain lies in: a query has no time to look at walls and holes."""
        if self._warned:
            return
        lower, upper = (torch.as_tensor(b).to(points) for b in self.mesh.bounds)
        slack, x = _BESIDE * (upper - lower), points.detach()
        try:
            count = int(((x < lower - slack) | (x > upper + slack)).any(1).sum())
        except RuntimeError:  # inside torch.func, where nobody can look
            return
        if count:
            self._warned = True
            text = f"{count} of {len(x)} points lie outside the domain, where the values mean nothing"
            warnings.warn(text, PcpinnWarning, stacklevel=3)

    def _here(self, mu: Any) -> Solution:
        return self.at(self.parameters.middle if mu is None else mu)

    def _one(self, mu: Any) -> Tensor:
        vector = self.parameters.vector(mu).detach().cpu()
        if vector.ndim != 1:
            raise PcpinnError(f"{len(vector)} sets of parameters for one solution", "give one")
        return vector

    def _family(self, given: Family | None) -> Family:
        known = given or self.family
        if known is None:
            raise PcpinnError(
                "a loaded surrogate does not know its equations", "give family=, or set surrogate.family = family"
            )
        if known.labels != self.parameters.labels or not _same_ranges(known, self.parameters):
            raise PcpinnError("this is a family of other parameters or ranges", "give the one that was trained")
        return known

    def _estimator(self, family: Family) -> Estimator:
        if self.kept.get("family") is not family:
            settings = Settings.from_dict(self.settings)
            made = Estimator(family, self.mesh, settings, self.network, self.anchors)
            self.kept |= {"family": family, "estimator": made}
        return self.kept["estimator"]

    def _single_network(self) -> Any:
        """The recipe of the perceptron that `at` gives; networks may have grown since they were set up."""
        return replace(Settings.from_dict(self.settings).network.of_one(), width=self.network.architecture.width)

    def _single_settings(self) -> dict[str, Any]:
        """Settings of a single problem with the same mesh and network, for what is asked of a solution."""
        own = Settings.from_dict(self.settings)
        return single_settings(own, self._single_network()).to_dict()


def _same_ranges(one: Parameters, other: Parameters) -> bool:
    """Ends of all ranges, and a place between them, which tells scales of magnitudes from others."""
    places = torch.tensor([-1.0, 0.5, 1.0], dtype=torch.float64)[:, None].expand(-1, one.count)
    return torch.allclose(one.value(places), other.value(places))


def single_settings(own: Settings, network: Any) -> Settings:
    """Settings of `pcpinn.solve` for one problem, with mesh, time, P and network of a family."""
    given = {"mesh": own.mesh, "preconditioner": own.preconditioner, "network": network}
    given |= {} if own.time is None else {"time": own.time}
    return resolve(METHODS.find("pcpinn"), own.over_time, given)


def percentile(values: Tensor, part: float = 0.95) -> float:
    """The value that a part of them does not exceed; infinite where some are not numbers."""
    if not bool(torch.isfinite(values).all()):
        return math.inf
    ordered = values.sort().values
    return float(ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)])
