"""The loss of an inverse problem: data, preconditioned equations, priors and known values, as one least-squares problem.

    0.5 ( ||(y - y_theta) / noise||^2 + kappa^2 m ||P^-1 F(u_theta, c_theta)||^2 / noise^2 + ||prior||^2 + ||known||^2
          + kappa^2 ||u_theta - its interpolant at the data||^2 / noise^2 )

kappa says how much more the equations count than data of the same misfit would. Derivatives: of F exactly, by assembled
matrices; in Gauss-Newton's matrix P^-1 dF/du counts as the identity, and P^-1 dF/dc is that of the last refresh of P.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.equation import distinct_points
from ..errors import PcpinnError
from ..precondition import Preconditioner
from ..precondition.preconditioned import WeightedInverse
from ..train import Loss
from ..train.curvature import Primal
from ..train.damping import Nielsen
from ..train.model import Forms, Model
from ..train.normal_equations import Rows, diagonal_of, gram_of, pulled, pushed, units_of
from ..train.optimiser import State
from .data import Between, DataTerm
from .equations import Equations, Tangent
from .frame import Frame, PriorRows
from .model import InverseModel

_DIFFERENCE = 0.1  # step of the second difference along the path
_TRUSTED_BEND = 1.0  # largest ratio of acceleration to velocity that is believed


class JointLoss(Loss):
    """The loss, and its least-squares model.

    Args:
        model: networks and numbers.
        equations: F(u, c).
        data: its terms.
        weights: (N,) of the norm of P^-1 F.

    Attributes:
        kappa: weight of the equations; 0 leaves them out (warm-up).
        priors: smoothness.
        between: what holds u_theta between the nodes.
        known: coefficient, nodes, values there, and how exactly they are met.
        recipe: makes P for a linearisation; refresh_every: how many iterations it serves; derivatives: whether Gauss-Newton's
            matrix is wanted.
        ages: how old each P became; anchor, age: weights at the last refresh, and iterations since.
    """

    rule = Nielsen(quickest=1 / 8, smallest=1e-12, largest=1e12)  # the valley is narrow

    def __init__(
        self, model: InverseModel, equations: Equations, data: Sequence[DataTerm], weights: np.ndarray
    ) -> None:
        self.model, self.equations, self.data = model, equations, list(data)
        self.network, self.kappa = model.network, 0.0
        self.device = model.theta.device
        self.priors: list[PriorRows] = []
        self.between: list[Between] = []
        self.known: list[tuple[str, Tensor, Tensor, float]] = []
        self.frame: Frame | None = None
        self.recipe: Callable[[Tangent], Preconditioner] | None = None
        self.refresh_every, self.derivatives = 1, True
        self.ages: list[int] = []
        self.anchor, self.age = model.theta.detach().clone(), torch.zeros((), dtype=torch.int64)
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
        self._root = self._tensor(np.sqrt(weights / weights.sum()) * equations.has_equation)

    # --- pieces -----------------------------------------------------------------------------------------------------

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
        return sum(len(term.data) for term in self.data)

    @property
    def typical_noise(self) -> float:
        """Root of the harmonic mean of variances."""
        return float((self.count / sum(float((1 / term.noise**2).sum()) for term in self.data)) ** 0.5)

    def scale_noise(self, factor: float) -> None:
        """Multiply all standard deviations."""
        for term in self.data:
            term.noise = term.noise * factor

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.float64).to(self.device)

    def unknowns(self) -> Tensor:
        """u at the nodes (N,), differentiable."""
        return self.model.u(self._points)[self._point_of, self._component_of]

    def coefficients(self) -> Tensor:
        """c at the nodes (M, K), differentiable."""
        return self.model.coefficient_values(self.places, self.equations.nodes_count)

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
        return self.kappa * self.count**0.5 / self.typical_noise

    @property
    def _inverse(self) -> WeightedInverse:
        """W P^-1, weighted as the equations are; P is that of the last refresh."""
        assert self.frame is not None
        return WeightedInverse(self.frame.solver, self._factor * self._root)

    def _preconditioned(self, F: np.ndarray) -> Tensor:
        return self._inverse.apply(torch.from_numpy(F))

    def _pulled(self, r: Tensor, tangent: Tangent) -> tuple[Tensor, Tensor]:
        """Gradient by u (N,) and c (M, K) of 0.5 ||r||^2, r the preconditioned residual."""
        by_u, by_c = tangent.pulled(self._inverse.apply_transpose(r).numpy())
        return self._tensor(by_u), self._tensor(by_c)

    # --- loss -------------------------------------------------------------------------------------------------------

    def loss(self) -> Tensor:
        """Differentiable in theta: for first-order optimisers."""
        total = self._smooth_parts()
        if self.kappa:
            self._advance()
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
        total, theta = self.theta.new_zeros(()), self.theta[self.model.parts[0]]
        for term in self.data:
            total = total + term.loss(term.residual(theta))
        for r in self._prior_residuals():
            total = total + 0.5 * (r @ r)
        return total

    def _prior_residuals(self) -> list[Tensor]:
        result = []
        values: dict[str, Tensor] = {}
        for name, net in self.model.coefficients.items():
            part = self.model.parts[1 + list(self.model.coefficients).index(name)]
            values[name] = net.bounded.value(net.base.evaluate(self.theta[part], self.places[name])[:, 0])
        between = self.between if self.kappa else []
        u = self.unknowns() if between or any(p.unknowns is not None for p in self.priors) else None
        for prior in self.priors:
            if prior.coefficient is not None:
                result.append(prior.rows @ (values[prior.coefficient] - prior.mean))
            else:
                assert u is not None
                result.append(prior.rows @ (u[prior.unknowns] - prior.mean))
        for name, at, v, spread in self.known:
            result.append((values[name][at] - v) / spread)
        for name, spread in self.model.spreads.items():
            result.append((self.model.parameter(name) - self.model.first(name)) / spread)
        for one in between:
            assert u is not None
            result.append(self._factor / self.count**0.5 * one.residual(self.theta[self.model.parts[0]], u))
        return result

    def _advance(self) -> None:
        """One iteration more with the present P, or with a new one."""
        if self.frame is None or self.frame.age >= self.refresh_every:
            self.refresh()
        assert self.frame is not None
        self.frame.age += 1
        self.age.fill_(self.frame.age)

    # --- Gauss-Newton -----------------------------------------------------------------------------------------------

    def resolve(self, recipe: Forms) -> tuple[str, int]:
        """Gauss-Newton's matrix is that of all residuals; "gram", since P^-1 dF/du counts as the identity.

        Raises:
            PcpinnError: for another form, or a sample.
        """
        if recipe.matrix not in ("auto", "gram") or recipe.sample or recipe.even:
            raise PcpinnError(
                f"Gauss-Newton with matrix={recipe.matrix}, sample={recipe.sample}, even={recipe.even:g} is not for joint losses",
                "use matrix=gram, sample=0 and even=0",
            )
        return "gram", self.count + self.equations.size

    @torch.no_grad()
    def model_here(self, recipe: Forms, state: State) -> Model:
        """The least-squares model at the present weights."""
        p, parts = len(self.theta), self.model.parts
        rows: Rows = []
        residual: list[Tensor] = []
        theta = self.theta.detach()[parts[0]]
        loss = 0.0
        for term in self.data:
            loss += float(term.loss(term.residual(theta)))
            r, J = term.weighted(theta)
            residual.append(r)
            rows.append([(J, parts[0])])
        Jc = {name: net.jacobian(self.places[name]) for name, net in self.model.coefficients.items()}
        Ju = self._nodal_jacobian()
        where = {name: parts[1 + k] for k, name in enumerate(self.model.coefficients)}
        for r, block in zip(self._prior_residuals(), self._prior_jacobians(Jc, Ju, where), strict=True):
            loss += 0.5 * float(r @ r)
            residual.append(r)
            rows.append([block])
        g = torch.zeros(p, dtype=torch.float64, device=self.device)
        if self.kappa:
            self._advance()
            r, exact = self._equations_here(Ju, Jc, where)
            g += exact
            loss += 0.5 * float(r @ r)
            residual.append(r)
            rows.append(self._equation_columns(Ju, Jc, where))
        exact_rows = len(rows) - bool(self.kappa)  # all but those of the equations
        g += pulled(rows[:exact_rows], residual[:exact_rows], p)
        H = gram_of(rows, p, self.device)
        # Rows that hold values to narrow bounds are not in the unit of damping: they would damp all that the others ask for.
        unit = units_of(self.blocks, diagonal_of(rows[: len(self.data)] + rows[exact_rows:], p, self.device), H)
        start = self.theta.detach().clone()

        def bending(v: Tensor) -> Tensor:
            """By a difference: u and the coefficients have to change together along a bent valley."""
            with torch.no_grad():
                self.theta.copy_(start + _DIFFERENCE * v)
                ahead = self.residuals()
                self.theta.copy_(start)
            along = zip(ahead, residual, pushed(rows, v), strict=True)
            return pulled(rows, [2 / _DIFFERENCE * ((a - r) / _DIFFERENCE - d) for a, r, d in along], p)

        return Model(loss, g, Primal(H, unit), bending, _TRUSTED_BEND)

    @torch.no_grad()
    def residuals(self) -> list[Tensor]:
        """All residuals at the present weights, in the order of the model; outliers reweighted."""
        theta = self.theta.detach()[self.model.parts[0]]
        result = [term.weighted_residual(theta) for term in self.data] + self._prior_residuals()
        if self.kappa:
            u, c = self.nodal()
            with np.errstate(all="ignore"):
                result.append(self._preconditioned(self.equations.residual(u, c)))
        return result

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
        slopes = self.model.parameter_slopes()
        for name, spread in self.model.spreads.items():
            places, values = zip(*slopes[name], strict=True)
            diagonal = torch.diag(torch.tensor(values, dtype=torch.float64, device=self.device) / spread)
            result.append((diagonal, slice(places[0], places[-1] + 1)))
        for one in self.between if self.kappa else []:
            result.append((self._factor / self.count**0.5 * one.jacobian(Ju), self.model.parts[0]))
        return result

    def _equations_here(self, Ju: Tensor, Jc: dict[str, Tensor], where: dict[str, slice]) -> tuple[Tensor, Tensor]:
        """Preconditioned residual, and its exact gradient: through P and the derivatives of F at the present weights."""
        tangent = self.tangent()
        r = self._preconditioned(tangent.residual)
        by_u, by_c = self._pulled(r, tangent)
        g = torch.zeros(len(self.theta), dtype=torch.float64, device=self.device)
        g[self.model.parts[0]] = Ju.T @ by_u
        family = self.equations.family
        for name, J in Jc.items():
            g[where[name]] = J.T @ by_c[:, family.columns(name).start]
        for name, numbers in self.model.parameter_slopes().items():
            for k, (at, slope) in zip(family.columns(name), numbers, strict=True):
                g[at] = slope * by_c[:, k].sum()
        return r, g

    def _equation_columns(
        self, Ju: Tensor, Jc: dict[str, Tensor], where: dict[str, slice]
    ) -> list[tuple[Tensor, slice]]:
        """The Jacobian of the preconditioned residual, through the last P."""
        assert self.frame is not None
        assert self.frame.by_free is not None
        free = torch.as_tensor(self.equations.free, device=self.device)
        weights = self._factor * self._root[:, None]
        family = self.equations.family
        columns = [(weights * (Ju - self.frame.by_free @ Ju[free]), self.model.parts[0])]
        for name, J in Jc.items():
            k = family.columns(name).start
            columns.append((weights * (-self.frame.by_coefficients[k] @ J), where[name]))
        for name, numbers in self.model.parameter_slopes().items():
            for k, (at, slope) in zip(family.columns(name), numbers, strict=True):
                column = -slope * self.frame.by_coefficients[k].sum(1, keepdim=True)
                columns.append((weights * column, slice(at, at + 1)))
        return columns

    # --- refresh ----------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """P of the present coefficients; with the derivatives of the discrete solution, for Gauss-Newton's matrix."""
        assert self.recipe is not None
        tangent = self.tangent()
        if self.frame is not None:
            self.ages.append(self.frame.age)
        preconditioner = self.recipe(tangent)
        state = preconditioner.build(tangent.A)
        self.frame = Frame(preconditioner, state)
        self.anchor.copy_(self.theta.detach())
        self.age.fill_(0)
        if self.derivatives:
            self.frame.add_derivatives(tangent, self.equations, self.device)

    def state(self) -> dict[str, Tensor]:
        """Where P was built, how many iterations ago, and how old those before it became; nothing before the first P."""
        ages = torch.tensor(self.ages, dtype=torch.int64)
        return {} if self.frame is None else {"anchor": self.anchor, "age": self.age, "ages": ages}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Build P where it was built; theta is left there."""
        age = int(state["age"])
        with torch.no_grad():
            self.theta.copy_(state["anchor"])
        self.refresh()
        assert self.frame is not None
        self.frame.age = age
        self.age.fill_(age)
        self.ages = [int(one) for one in state["ages"]]

    def describe(self) -> dict[str, Any]:
        """The preconditioner, for the report."""
        if self.frame is None:
            return {"name": "none"}
        P = self.frame
        return {
            "name": P.preconditioner.name,
            **P.preconditioner.describe(P.state),
            "refreshes": len(self.ages) + 1,
            "age": P.age,
            "oldest": max([P.age, *self.ages]),
        }
