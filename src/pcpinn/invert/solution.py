"""The answer of an inverse problem: u, the unknown coefficients and parameters, and how well the data determine them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import PcpinnError
from ..solution.card import need_pictures
from ..solution.folder import finish_record
from ..solution.solution import Solution
from .model import CoefficientNetwork, InverseModel
from .nodal import NodalFunction
from .observations import Observations
from .truth import Truth, Uncertainty, compare_inverse
from .write import write_data, write_nodal, write_posterior, write_unknowns


@dataclass(repr=False)
class InverseSolution(Solution):
    """u as any solution, and what was looked for.

    Attributes:
        coefficients: networks of the unknown functions, by name.
        parameters: values of the unknown numbers, by name: a number, or (n,) where a vector was asked for.
        uncertainty: of all of them; None where no Gauss-Newton posterior was computed.
        data: what was given.
    """

    coefficients: dict[str, CoefficientNetwork] = field(default_factory=dict)
    parameters: dict[str, np.float64 | np.ndarray] = field(default_factory=dict)
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
        unknowns = model.family.unknowns
        found = {name: model.parameter(name).detach().cpu().numpy() for name in model.parameter_names}
        parameters = {name: v if unknowns[name].is_vector else np.float64(v[0]) for name, v in found.items()}
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

    def std(self, name: str, x: Any | None = None) -> Any:
        """Posterior standard deviation: of a coefficient or a field at points (n,), or of a parameter, of its shape.

        Raises:
            PcpinnError: where there is no posterior, or no such name.
        """
        known = self.uncertainty
        if known is None:
            raise PcpinnError("this run has no posterior", "use optimiser=gauss-newton and prior=auto")
        if name in known.parameters:
            each = np.linalg.norm(known.parameters[name], axis=1)
            return each if np.ndim(self.parameters[name]) else each[0]
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

    def draw_into(self, figure: Any, reference: Any = None) -> np.ndarray:
        """Data, reconstruction, uncertainty; with a `Truth`, that and the difference too. The axes of all panels."""
        need_pictures()
        from .picture import compose_inverse

        truth = reference if isinstance(reference, Truth) else None
        boundaries = (self.result.get("inverse") or {}).get("boundaries") or {}
        return compose_inverse(figure, self, truth, str(self.result.get("problem", "")), boundaries)

    @property
    def kind(self) -> str:
        """Of a folder that holds it; adjoint methods leave nodal values and no networks."""
        return "nodal" if isinstance(self.network, NodalFunction) else "inverse"

    def finish(self, folder: Path) -> None:
        """Add everything that was found to the folder of a run; result.json last."""
        write_data(folder / "data.safetensors", self.data)
        if self.uncertainty is not None:
            write_posterior(folder, self.uncertainty)
        if self.kind == "nodal":
            write_nodal(folder, self.network, self.coefficients, self.parameters)
            finish_record(folder, self.history, self.result)
        else:
            write_unknowns(folder, self.coefficients, self.parameters)
            super().finish(folder)
