"""The answer of an inverse problem: u, the unknown coefficients and parameters, and how well the data determine them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import PcpinnError
from .inverse_model import CoefficientNetwork, InverseModel
from .observations import Observations
from .reference import metrics
from .solution import Solution

Interpolate = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Truth:
    """What the answer is compared with.

    Attributes:
        points: (n, d), time included.
        u: (n, C).
        coefficients: name -> (n,), at the same points.
        parameters: name -> number or (k,).
        note: where it comes from.
    """

    points: np.ndarray
    u: np.ndarray
    coefficients: Mapping[str, np.ndarray] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    note: str = "exact"

    def describe(self) -> dict[str, Any]:
        """For result.json."""
        return {"kind": "exact", "error": 0.0, "points": len(self.points), "note": self.note}


@dataclass
class Uncertainty:
    """Posterior covariances in factored form at nodes: covariance = F F^T.

    Attributes:
        u: (N, r) of the discrete solution.
        coefficients: name -> (M, r) at the nodes of the coefficient.
        parameters: name -> (k, r).
        effective: number of degrees of freedom that the data determine.
        u_at, coefficient_at: points -> sparse matrix from nodes to there.
    """

    u: np.ndarray
    coefficients: dict[str, np.ndarray]
    parameters: dict[str, np.ndarray]
    effective: float
    u_at: Callable[[np.ndarray, int], Any]
    coefficient_at: Callable[[np.ndarray], Any]


@dataclass
class InverseSolution(Solution):
    """u as any solution, and what was looked for.

    Attributes:
        coefficients: networks of the unknown functions, by name.
        parameters: values of the unknown numbers, by name.
        uncertainty: of all of them; None where no Gauss-Newton posterior was computed.
        data: what was given.
    """

    coefficients: dict[str, CoefficientNetwork] = field(default_factory=dict)
    parameters: dict[str, np.ndarray] = field(default_factory=dict)
    uncertainty: Uncertainty | None = None
    data: tuple[Observations, ...] = ()

    @classmethod
    def from_model(
        cls,
        model: InverseModel,
        plain: Mapping[str, Any],
        uncertainty: Uncertainty | None,
        data: tuple[Observations, ...],
    ) -> InverseSolution:
        """What the networks of a model are now; `plain` has mesh, result, history and settings, as of any solution."""
        parameters = {name: model.parameter(name).detach().cpu().numpy() for name in model.parameter_names}
        return cls(
            network=model.network,
            fields=model.family.base.unknowns,
            **plain,
            coefficients=model.coefficients,
            parameters=parameters,
            uncertainty=uncertainty,
            data=data,
        )

    @classmethod
    def from_solution(cls, plain: Solution, **found: Any) -> InverseSolution:
        """Any solution, with what was found: coefficients, parameters, uncertainty, data; another network in its place."""
        kept = {f.name: getattr(plain, f.name) for f in fields(plain)}
        return cls(**kept | found)

    def u(self, x: Any) -> Any:
        """The solution at points, as the call itself."""
        return self(x)

    def coefficient(self, name: str) -> Callable[[Any], Any]:
        """An unknown function: points (n, d), with or without time -> (n,). Torch in, torch out (differentiable)."""
        if name not in self.coefficients:
            known = ", ".join(self.coefficients) or "none"
            raise PcpinnError(f"there is no coefficient {name!r}", f"the coefficients are: {known}")
        network = self.coefficients[name]

        def at(x: Any) -> Any:
            if isinstance(x, torch.Tensor):
                return network(x.to(network.base.theta)).to(x)
            points = np.asarray(x, dtype=np.float64)
            if points.ndim != 2 or not network.base.inputs <= points.shape[1] <= self.mesh.dimension:
                raise PcpinnError(
                    f"points have shape {points.shape}, expected (n, {network.base.inputs})", "give one row per point"
                )
            with torch.no_grad():
                return network(torch.as_tensor(points).to(network.base.theta)).cpu().numpy()

        return at

    def std(self, name: str, x: Any | None = None) -> np.ndarray:
        """Posterior standard deviation: of a coefficient or a field's first component at points, or of a parameter.

        Raises:
            PcpinnError: where there is no posterior, or no such name.
        """
        known = self.uncertainty
        if known is None:
            raise PcpinnError("this run has no posterior", "use optimiser=gauss-newton and prior=auto")
        if name in known.parameters:
            return np.linalg.norm(known.parameters[name], axis=1)
        if x is None:
            raise PcpinnError(f"{name!r} is a function", "give points: solution.std(name, points)")
        points = np.asarray(x, dtype=np.float64)
        if name in known.coefficients:
            places = points[:, : self.coefficients[name].base.inputs]
            return np.linalg.norm(known.coefficient_at(places) @ known.coefficients[name], axis=1)
        if name in self.names:
            return np.linalg.norm(known.u_at(points, self.names.index(name)) @ known.u, axis=1)
        raise PcpinnError(f"there is no unknown {name!r}", f"there are {', '.join([*self.names, *known.coefficients])}")

    def compare(self, truth: Truth) -> dict[str, Any]:
        """Errors of u and the coefficients stacked, and of each apart; of parameters relative to the truth."""
        return compare_inverse(self, truth)

    def plot(self, path: str | Path, reference: Any = None) -> Path:
        """Data, reconstruction, uncertainty; with a `Truth`, that and the difference too."""
        try:
            from .inverse_picture import draw_inverse
        except ModuleNotFoundError as error:
            raise PcpinnError(f"pictures need {error.name}", f"pip install {error.name}") from error
        return draw_inverse(self, Path(path), reference if isinstance(reference, Truth) else None)


def compare_inverse(solution: InverseSolution, truth: Truth) -> dict[str, Any]:
    """See `InverseSolution.compare`."""
    n = len(truth.points)
    pairs = {
        name: (np.reshape(solution(truth.points), (n, -1))[:, k], np.reshape(truth.u, (n, -1))[:, k])
        for k, name in enumerate(solution.names)
    }
    pairs |= {name: (solution.coefficient(name)(truth.points), values) for name, values in truth.coefficients.items()}
    result: dict[str, Any] = metrics(*(np.concatenate(part) for part in zip(*pairs.values(), strict=True)))
    result["field"] = {name: metrics(*pair) for name, pair in pairs.items()}
    for name, value in truth.parameters.items():
        result["field"][name] = metrics(np.atleast_1d(solution.parameters[name]), np.atleast_1d(value))
    return result


def expected_error(uncertainty: Uncertainty, names: tuple[str, ...], truth: Truth) -> float:
    """Root of the expected square of the stacked relative error, by the posterior: what the noise leaves of any answer."""
    n = len(truth.points)
    total = sum(float(((uncertainty.u_at(truth.points, k) @ uncertainty.u) ** 2).sum()) for k in range(len(names)))
    size = float((truth.u**2).sum())
    for name, values in truth.coefficients.items():
        factor = uncertainty.coefficients[name]
        d = uncertainty_dimension(uncertainty, truth, factor)
        total += float(((uncertainty.coefficient_at(truth.points[:, :d]) @ factor) ** 2).sum())
        size += float((values**2).sum())
    assert n
    return float(np.sqrt(total / size))


def uncertainty_dimension(uncertainty: Uncertainty, truth: Truth, factor: np.ndarray) -> int:
    """Number of coordinates that the nodes of a coefficient have."""
    for d in (truth.points.shape[1], truth.points.shape[1] - 1):
        try:
            if uncertainty.coefficient_at(truth.points[:1, :d]).shape[1] == len(factor):
                return d
        except (ValueError, IndexError):
            continue
    raise PcpinnError("the truth's points do not fit the coefficient", "give points of the domain, time included")
