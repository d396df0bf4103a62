"""u_theta and the unknowns of an inverse problem as one vector of weights: networks for functions, numbers for parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from ..network import Architecture, DenseNetwork, Features
from ..network.protocol import Network
from ..problem.family import Family
from ..problem.unknowns import Coefficient, Parameter, Unknown
from ..solve.settings import Settings


class Bounded:
    """A smooth map from all numbers onto those between bounds, the first guess being the image of 0."""

    def __init__(self, low: float, high: float, initial: float, unit: float = 0.0) -> None:
        self.low, self.high, self.initial = low, high, initial
        self.unit = unit or max(abs(initial), 1e-3)
        if math.isfinite(low) and math.isfinite(high):
            share = (initial - low) / (high - low)
            self._shift = math.log(share / (1 - share))
        elif math.isfinite(low) or math.isfinite(high):
            self.unit = initial - low if math.isfinite(low) else high - initial
            self._shift = math.log(math.expm1(1.0))

    def value(self, z: Tensor) -> Tensor:
        """z -> value."""
        if math.isfinite(self.low) and math.isfinite(self.high):
            return self.low + (self.high - self.low) * torch.sigmoid(z + self._shift)
        if math.isfinite(self.low):
            return self.low + self.unit * nn.functional.softplus(z + self._shift)
        if math.isfinite(self.high):
            return self.high - self.unit * nn.functional.softplus(self._shift - z)
        return self.initial + self.unit * z

    def slope(self, z: Tensor) -> Tensor:
        """d value / dz."""
        if math.isfinite(self.low) and math.isfinite(self.high):
            s = torch.sigmoid(z + self._shift)
            return (self.high - self.low) * s * (1 - s)
        if math.isfinite(self.low):
            return self.unit * torch.sigmoid(z + self._shift)
        if math.isfinite(self.high):
            return self.unit * torch.sigmoid(self._shift - z)
        return torch.full_like(z, self.unit)


def bounds_of(unknown: Unknown) -> list[Bounded]:
    """One map per scalar of an unknown."""
    if isinstance(unknown, Coefficient):
        low = -math.inf if unknown.low is None else unknown.low
        return [Bounded(low, math.inf, unknown.initial)]
    return [Bounded(*three) for three in zip(unknown.lower, unknown.upper, unknown.start, strict=True)]


class CoefficientNetwork(nn.Module):
    """A coefficient as a function of space (or space and time): bounds of a network."""

    def __init__(self, base: DenseNetwork, bounded: Bounded) -> None:
        super().__init__()
        self.base, self.bounded = base, bounded

    def forward(self, x: Tensor) -> Tensor:
        """(m, d) -> (m,); of points with more coordinates (time) the first count."""
        return self.bounded.value(self.base(x[..., : self.base.inputs])[..., 0])

    @torch.no_grad()
    def jacobian(self, x: Tensor) -> Tensor:
        """(m, p)."""
        z = self.base(x)[:, 0]
        J = self.base.jacobian(x, torch.zeros(len(x), dtype=torch.long, device=x.device))
        return J.mul_(self.bounded.slope(z)[:, None])


class InverseModel:
    """Networks and parameters whose weights are parts of one vector `theta`.

    Args:
        family: the unknowns.
        network: u_theta.
        coefficients: by name.
    """

    def __init__(self, family: Family, network: Network, coefficients: Mapping[str, CoefficientNetwork]) -> None:
        self.family, self.network, self.coefficients = family, network, dict(coefficients)
        self._bounds = {n: bounds_of(u) for n, u in family.unknowns.items() if isinstance(u, Parameter)}
        count = sum(len(b) for b in self._bounds.values())
        nets: list[Network] = [network, *(c.base for c in self.coefficients.values())]
        pieces = [n.theta.detach() for n in nets]
        self.theta = nn.Parameter(torch.cat([*pieces, pieces[0].new_zeros(count)]))
        self.parts, at = [], 0
        for net in nets:
            part = slice(at, at + net.parameter_count)
            net.theta.data = self.theta.data[part]  # the same memory
            self.parts.append(part)
            at = part.stop
        self.numbers = slice(at, at + count)

    @property
    def spreads(self) -> dict[str, float]:
        """Standard deviations of parameters that have a prior."""
        unknowns = self.family.unknowns.items()
        return {n: u.spread for n, u in unknowns if isinstance(u, Parameter) and u.spread is not None}

    def first(self, name: str) -> Tensor:
        """First guess of a parameter (n,)."""
        unknown = self.family.unknowns[name]
        assert isinstance(unknown, Parameter)
        return torch.tensor(unknown.start, dtype=torch.float64, device=self.theta.device)

    @property
    def parameter_names(self) -> list[str]:
        """Names of the `Parameter`s."""
        return list(self._bounds)

    def parameter(self, name: str, theta: Tensor | None = None) -> Tensor:
        """Value(s) (n,) of a parameter."""
        z = (self.theta if theta is None else theta)[self.numbers]
        at = 0
        for other, bounds in self._bounds.items():
            if other == name:
                return torch.stack([b.value(z[at + i]) for i, b in enumerate(bounds)])
            at += len(bounds)
        raise KeyError(name)

    def parameter_slopes(self) -> dict[str, list[tuple[int, float]]]:
        """For each parameter's numbers: place in theta, and derivative of the number by it."""
        z = self.theta.detach()[self.numbers]
        result: dict[str, list[tuple[int, float]]] = {}
        at = 0
        for name, bounds in self._bounds.items():
            result[name] = [(self.numbers.start + at + i, float(b.slope(z[at + i]))) for i, b in enumerate(bounds)]
            at += len(bounds)
        return result

    def coefficient_values(self, points: Mapping[str, Tensor], count: int) -> Tensor:
        """(M, K) nodal values: coefficients at their points, parameters repeated. Differentiable in theta's parts."""
        columns = []
        device, dtype = self.theta.device, self.theta.dtype
        for name in self.family.unknowns:
            if name in self.coefficients:
                net, part = self.coefficients[name], self.parts[1 + list(self.coefficients).index(name)]
                z = net.base.evaluate(self.theta[part], points[name])[:, 0]
                columns.append(net.bounded.value(z))
            else:
                columns += [v.expand(count) for v in self.parameter(name).to(device, dtype)]
        return torch.stack(columns, dim=1)

    def u(self, x: Tensor) -> Tensor:
        """u_theta at points (m, d): (m, C), differentiable in theta."""
        return self.network.evaluate(self.theta[self.parts[0]], x)


def make_coefficient(
    unknown: Coefficient,
    lower: np.ndarray,
    upper: np.ndarray,
    settings: Settings,
    seed: int,
    device: torch.device,
) -> CoefficientNetwork:
    """An untrained network over a box, seeded; it begins close to the first guess."""
    features = Features("log", 2, -2.0, -1.0)
    width, depth = settings.loss.coefficient_width or unknown.width, settings.loss.coefficient_depth or unknown.depth
    architecture = Architecture(width, depth, settings.network.activation, "glorot-normal", features)
    base = DenseNetwork(architecture, lower.tolist(), upper.tolist(), 1, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        base.theta[-base.head_size :] *= 0.1
    return CoefficientNetwork(base.to(device), bounds_of(unknown)[0])


def make_coefficients(
    family: Family, nodes: np.ndarray, has_time: bool, settings: Settings, device: torch.device
) -> dict[str, CoefficientNetwork]:
    """One for each `Coefficient`, over the box of all nodes (m, d); d counts time, which most do not depend on."""
    result = {}
    for k, (name, unknown) in enumerate(family.unknowns.items()):
        if isinstance(unknown, Coefficient):
            d = nodes.shape[1] - (has_time and not unknown.over_time)
            box = nodes.min(axis=0)[:d], nodes.max(axis=0)[:d]
            result[name] = make_coefficient(unknown, *box, settings, settings.run.seed + 1000 + k, device)
    return result
