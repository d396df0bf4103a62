"""The loss of an inverse problem: data, preconditioned equations, priors and known values, as one least-squares problem.

    0.5 ( ||(y - y_theta) / noise||^2 + kappa^2 m ||P^-1 F(u_theta, c_theta)||^2 / noise^2 + ||prior||^2 + ||known||^2 )

kappa says how much more the equations count than data of the same misfit would. Derivatives: of F exactly, by assembled
matrices; in Gauss-Newton's matrix P^-1 dF/du counts as the identity, and P^-1 dF/dc is that of the last refresh of P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.equations import Equations, Tangent
from ..discretize.system import distinct_points
from ..errors import PcpinnError
from ..network.mlp import MLP
from ..precondition import Preconditioner
from ..problem.field import Local
from .inverse_model import InverseModel
from .observations import Observations

_HUBER = 1.345  # beyond so many standard deviations a residual counts linearly


@dataclass
class PriorRows:
    """||rows (v - mean)||^2 for values v at nodes of a coefficient (by name), or of u at some unknowns."""

    rows: Tensor
    mean: Tensor
    coefficient: str | None = None
    unknowns: Tensor | None = None


@dataclass
class Frame:
    """What stays as it is between two refreshes: P, and derivatives through it for Gauss-Newton's matrix.

    Attributes:
        state: of the preconditioner.
        by_free, by_coefficients: dense dU/du_free (N, f), dU/dc (N, M) each, of the discrete solution U; None for first-order
            optimisers.
        age: iterations since.
        count: refreshes so far.
    """

    preconditioner: Preconditioner
    state: Any
    by_free: Tensor | None = None
    by_coefficients: list[Tensor] = field(default_factory=list)
    age: int = 0
    count: int = 1


class JointLoss:
    """The loss; knows its normal equations.

    Args:
        model: networks and numbers.
        equations: F(u, c).
        data: sets of observations.
        noise: standard deviation of each set's rows.
        weights: (N,) of the norm of P^-1 F.
        kappa: weight of the equations; 0 leaves them out (warm-up).
        robust: give outliers less weight (Huber's).
    """

    def __init__(
        self,
        model: InverseModel,
        equations: Equations,
        data: Sequence[Observations],
        noise: Sequence[np.ndarray],
        weights: np.ndarray,
        robust: bool = False,
    ) -> None:
        self.model, self.equations, self.data = model, equations, list(data)
        self.robust, self.kappa = robust, 0.0
        self.device = model.theta.device
        self.priors: list[PriorRows] = []
        self.known: list[tuple[str, Tensor, Tensor, float]] = []
        self.frame: Frame | None = None
        self._tangent: tuple[Tensor, Tangent] | None = None
        form = equations.discretisation
        points, point_of = distinct_points(form.unknown_nodes, form.components)
        self._points = self._tensor(points)
        self._point_of = torch.as_tensor(point_of, device=self.device)
        self._component_of = torch.as_tensor(np.asarray(form.unknown_components), device=self.device)
        self.places = {
            name: self._tensor(equations.coefficient_nodes[:, : net.base.inputs])
            for name, net in model.coefficients.items()
        }
        self._x = [self._tensor(d.points) for d in data]
        self._y = [self._tensor(d.values) for d in data]
        self._component = [None if d.observable is not None else d.component_in(equations.family.base) for d in data]
        self.set_noise(noise)
        self._weights = np.sqrt(weights / weights.sum()) * equations.has_equation

    # --- pieces -----------------------------------------------------------------------------------------------------

    @property
    def network(self) -> MLP:
        """u_theta."""
        return self.model.network

    @property
    def theta(self) -> torch.nn.Parameter:
        """All weights."""
        return self.model.theta

    @property
    def blocks(self) -> list[slice]:
        """Weights of each network, and each number."""
        numbers = self.model.numbers
        return [*self.model.parts, *(slice(k, k + 1) for k in range(numbers.start, numbers.stop))]

    @property
    def count(self) -> int:
        """Number of data m."""
        return sum(len(d) for d in self.data)

    def set_noise(self, noise: Sequence[np.ndarray]) -> None:
        """Standard deviations of each set's rows."""
        self._noise = [self._tensor(n) for n in noise]
        self.typical = float(np.sqrt(self.count / sum(float((1 / n**2).sum()) for n in noise)))

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.float64).to(self.device)

    def unknowns(self) -> Tensor:
        """u at the nodes (N,), differentiable."""
        return self.model.u(self._points)[self._point_of, self._component_of]

    def coefficients(self) -> Tensor:
        """c at the nodes (M, K), differentiable."""
        return self.model.coefficient_values(self.places, self.equations.nodes_count)

    def predictions(self) -> list[Tensor]:
        """What the networks say of each set of data, differentiable."""
        return [self._predict(self.model.theta[self.model.parts[0]], i) for i in range(len(self.data))]

    def _predict(self, theta: Tensor, i: int) -> Tensor:
        network, component = self.network, self._component[i]
        if component is not None:
            return network.evaluate(theta, self._x[i])[:, component]
        return torch.func.vmap(lambda x: self._observed(theta, x, i))(self._x[i])

    def _observed(self, theta: Tensor, x: Tensor, i: int) -> Tensor:
        """An observable at one point."""
        value = self.network.evaluate(theta, x)
        slope = torch.func.jacfwd(lambda p: self.network.evaluate(theta, p))(x)
        fields, at = [], 0
        for f in self.equations.family.base.unknowns:
            own = at if f.components == 1 else slice(at, at + f.components)
            fields.append(Local(value[own], slope[own]))
            at += f.components
        observable = self.data[i].observable
        assert observable is not None
        result = observable(x, *fields)
        if not isinstance(result, Tensor) or result.ndim:
            raise PcpinnError("the observable does not return one number", "return a tensor of shape ()")
        return result

    def scaled_misfit(self, i: int) -> Tensor:
        """(y_theta - y) / noise of one set."""
        return (self._predict(self.model.theta[self.model.parts[0]], i) - self._y[i]) / self._noise[i]

    # --- equations --------------------------------------------------------------------------------------------------

    def tangent(self) -> Tangent:
        """F and its derivatives at the present weights; kept until these change."""
        theta = self.theta.detach()
        if self._tangent is None or not torch.equal(self._tangent[0], theta):
            u, c = self.nodal()
            self._tangent = theta.clone(), self.equations.linearise(u, c)
        return self._tangent[1]

    @torch.no_grad()
    def nodal(self) -> tuple[np.ndarray, np.ndarray]:
        """u (N,) and c (M, K) as arrays."""
        return self.unknowns().cpu().numpy(), self.coefficients().cpu().numpy()

    @property
    def _factor(self) -> float:
        return self.kappa * self.count**0.5 / self.typical

    def _preconditioned(self, F: np.ndarray) -> np.ndarray:
        assert self.frame is not None
        return self._factor * self._weights * self.frame.preconditioner.apply(self.frame.state, F)

    def _pulled(self, r: np.ndarray, tangent: Tangent) -> tuple[Tensor, Tensor]:
        """Gradient by u (N,) and c (M, K) of 0.5 ||r||^2, r the preconditioned residual."""
        assert self.frame is not None
        q = self.frame.preconditioner.apply_transpose(self.frame.state, self._factor * self._weights * r)
        q = q * self.equations.has_equation
        by_u = tangent.A.T @ q
        by_u[self.equations.free] = tangent.by_free.T @ q
        by_c = np.stack([S.T @ q for S in tangent.by_coefficients], axis=1)
        return self._tensor(by_u), self._tensor(by_c)

    # --- loss -------------------------------------------------------------------------------------------------------

    def _data_weights(self, r: Tensor) -> Tensor:
        if not self.robust:
            return torch.ones_like(r)
        return torch.where(r.abs() <= _HUBER, 1.0, _HUBER / r.abs().clamp(min=1e-12)).detach()

    def _data_loss(self, r: Tensor) -> Tensor:
        if not self.robust:
            return 0.5 * (r @ r)
        a = r.abs()
        return torch.where(a <= _HUBER, 0.5 * r**2, _HUBER * (a - 0.5 * _HUBER)).sum()

    def loss(self) -> Tensor:
        """Differentiable in theta: for first-order optimisers."""
        total = self._smooth_parts()
        if self.kappa:
            self._count()
            tangent = self.tangent()
            r = self._preconditioned(tangent.residual)
            by_u, by_c = self._pulled(r, tangent)
            u, c = self.unknowns(), self.coefficients()
            linear = (by_u * u).sum() + (by_c * c).sum()
            total = total + 0.5 * float(r @ r) + (linear - linear.detach())
        return total

    def value(self) -> float:
        """The loss, no derivatives."""
        with torch.no_grad():
            total = float(self._smooth_parts())
            if self.kappa:
                u, c = self.nodal()
                with np.errstate(all="ignore"):
                    r = self._preconditioned(self.equations.residual(u, c))
                total += 0.5 * float(r @ r)
        return total

    def _smooth_parts(self) -> Tensor:
        total = sum((self._data_loss(self.scaled_misfit(i)) for i in range(len(self.data))), self.theta.new_zeros(()))
        for r in self._prior_residuals():
            total = total + 0.5 * (r @ r)
        return total

    def _prior_residuals(self) -> list[Tensor]:
        result = []
        values: dict[str, Tensor] = {}
        for name, net in self.model.coefficients.items():
            part = self.model.parts[1 + list(self.model.coefficients).index(name)]
            values[name] = net.bounded.value(net.base.evaluate(self.theta[part], self.places[name])[:, 0])
        u = self.unknowns() if any(p.unknowns is not None for p in self.priors) else None
        for prior in self.priors:
            if prior.coefficient is not None:
                result.append(prior.rows @ (values[prior.coefficient] - prior.mean))
            else:
                assert u is not None and prior.unknowns is not None
                result.append(prior.rows @ (u[prior.unknowns] - prior.mean))
        for name, at, v, spread in self.known:
            result.append((values[name][at] - v) / spread)
        return result

    def _count(self) -> None:
        if self.frame is not None:
            self.frame.age += 1

    # --- Gauss-Newton -----------------------------------------------------------------------------------------------

    @torch.no_grad()
    def normal_equations(self) -> tuple[float, Tensor, Tensor]:
        """Loss, J^T J and J^T r at the present weights."""
        p, parts = len(self.theta), self.model.parts
        H = torch.zeros(p, p, dtype=torch.float64, device=self.device)
        g = torch.zeros(p, dtype=torch.float64, device=self.device)
        loss = 0.0
        for i in range(len(self.data)):
            r = self.scaled_misfit(i)
            loss += float(self._data_loss(r))
            weight = self._data_weights(r).sqrt()
            J = self._data_jacobian(i) * (weight / self._noise[i])[:, None]
            H[parts[0], parts[0]] += J.T @ J
            g[parts[0]] += J.T @ (weight * r)
        Jc = {name: net.jacobian(self.places[name]) for name, net in self.model.coefficients.items()}
        Ju = self._nodal_jacobian()
        where = {name: parts[1 + k] for k, name in enumerate(self.model.coefficients)}
        residuals = self._prior_residuals()
        for r, (J, part) in zip(residuals, self._prior_jacobians(Jc, Ju, where), strict=True):
            loss += 0.5 * float(r @ r)
            H[part, part] += J.T @ J
            g[part] += J.T @ r
        if self.kappa:
            self._count()
            loss += self._add_equations(H, g, Ju, Jc, where)
        return loss, H, g

    def _data_jacobian(self, i: int) -> Tensor:
        component = self._component[i]
        if component is not None:
            at = torch.full((len(self._x[i]),), component, dtype=torch.long, device=self.device)
            return self.network.jacobian(self._x[i], at)
        theta = self.theta.detach()[self.model.parts[0]]
        return torch.func.vmap(torch.func.jacrev(lambda t, x: self._observed(t, x, i)), (None, 0))(theta, self._x[i])

    def _nodal_jacobian(self) -> Tensor:
        return self.network.jacobian(self._points[self._point_of], self._component_of)

    def _prior_jacobians(
        self, Jc: dict[str, Tensor], Ju: Tensor, where: dict[str, slice]
    ) -> list[tuple[Tensor, slice]]:
        result = []
        for prior in self.priors:
            if prior.coefficient is not None:
                result.append((prior.rows @ Jc[prior.coefficient], where[prior.coefficient]))
            else:
                result.append((prior.rows @ Ju[prior.unknowns], self.model.parts[0]))
        for name, at, _, spread in self.known:
            result.append((Jc[name][at] / spread, where[name]))
        return result

    def _add_equations(self, H: Tensor, g: Tensor, Ju: Tensor, Jc: dict[str, Tensor], where: dict[str, slice]) -> float:
        assert self.frame is not None and self.frame.by_free is not None
        tangent = self.tangent()
        r = self._preconditioned(tangent.residual)
        by_u, by_c = self._pulled(r, tangent)
        free = torch.as_tensor(self.equations.free, device=self.device)
        weights = self._factor * self._tensor(self._weights)
        columns = [(Ju - self.frame.by_free @ Ju[free], self.model.parts[0])]
        g[self.model.parts[0]] += Ju.T @ by_u
        family = self.equations.family
        for name, J in Jc.items():
            k = family.columns(name).start
            columns.append((-self.frame.by_coefficients[k] @ J, where[name]))
            g[where[name]] += J.T @ by_c[:, k]
        for name, numbers in self.model.parameter_slopes().items():
            for k, (at, slope) in zip(family.columns(name), numbers, strict=True):
                columns.append((-slope * self.frame.by_coefficients[k].sum(1, keepdim=True), slice(at, at + 1)))
                g[at] += slope * by_c[:, k].sum()
        for a, (first, rows) in enumerate(columns):
            scaled = (weights**2)[:, None] * first
            for second, others in columns[a:]:
                block = scaled.T @ second
                H[rows, others] += block
                if rows != others:
                    H[others, rows] += block.T
        return 0.5 * float(r @ r)

    # --- refresh ----------------------------------------------------------------------------------------------------

    def refresh(self, preconditioner: Preconditioner, derivatives: bool) -> None:
        """P of the present coefficients; with the derivatives of the discrete solution, for Gauss-Newton's matrix."""
        tangent = self.tangent()
        count = 1 if self.frame is None else self.frame.count + 1
        state = preconditioner.build(tangent.A)
        self.frame = Frame(preconditioner, state, count=count)
        if derivatives:
            solved = preconditioner.apply(state, tangent.by_free.toarray())
            by_free = -solved * self.equations.has_equation[:, None]
            by_free[self.equations.free, np.arange(len(self.equations.free))] += 1.0
            self.frame.by_free = self._tensor(by_free)
            self.frame.by_coefficients = [
                self._tensor(-preconditioner.apply(state, S.toarray())) for S in tangent.by_coefficients
            ]

    def describe(self) -> dict[str, Any]:
        """The preconditioner, for the report."""
        if self.frame is None:
            return {"name": "none"}
        P = self.frame
        return {
            "name": P.preconditioner.name,
            **P.preconditioner.describe(P.state),
            "refreshes": P.count,
            "age": P.age,
        }
