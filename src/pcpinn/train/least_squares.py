"""The loss of Algorithm 1 as the least-squares problem that it is: 0.5 ||P^-1 (A u_theta - b)||^2."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ..discretize.equation import Nodes, TensorNodes
from ..errors import PcpinnError
from ..network.placed import PlacedNetwork
from ..network.protocol import Network, Placed, no_layers
from ..precondition.preconditioned import Preconditioned
from .curvature import Curvature, MatrixFree, Primal, SharedPrimal, of_rows
from .damping import Nielsen
from .forms import choose_form, rows_at_once, sample_rows
from .loss import Loss
from .model import Forms, Model
from .optimiser import State

_TRUSTED_BEND = 0.75  # largest ratio of acceleration to velocity at which the path's second-order model is believed
_SINGLE_ABOVE = 1e-5  # while damping is larger than this, rounding in a float32 Gram matrix is harmless


class LeastSquares(Loss):
    """Residual of a network against a preconditioned linear system, relative to ||P^-1 b||.

    With P ~ A the residual's norm estimates the relative training error ||u_theta - u_h|| / ||u_h||.

    Args:
        network: u_theta.
        nodes: where the degrees of freedom sit and which output of the network they are.
        operator: u -> W P^-1 (A u - b). With a P in parts it is that of the degrees of freedom of this process, and `nodes`
            are these: sums over residuals then go over the team.
        placed: the network at the points, if something is known of it already.
    """

    rule = Nielsen()

    def __init__(
        self,
        network: Network,
        nodes: Nodes | TensorNodes,
        operator: Preconditioned,
        placed: Placed | None = None,
    ) -> None:
        if network.ansatz is not None:
            raise PcpinnError("a network with hard conditions cannot be trained on nodal values", "use the method pinn")
        self.network, self.operator, self.team = network, operator, operator.team
        self._shared = operator.here is not None
        self._known: tuple[Tensor, Tensor] | None = None
        device, dtype = operator.device, operator.dtype
        self.points = torch.as_tensor(nodes.points, dtype=dtype, device=device)
        self._placed = placed or network.place(self.points)
        self.point_of = torch.as_tensor(nodes.point_of, device=device)
        self.component_of = torch.as_tensor(nodes.component_of, device=device)
        self.scale = 1.0 / (operator.target_norm or 1.0)
        self.weights = torch.as_tensor(operator.weights, dtype=dtype, device=device)
        self._count = round(self.team.number(len(nodes.point_of)))
        # One scalar field: the degrees of freedom are the points, no gathering needed.
        self._in_order = len(nodes.points) == len(nodes.point_of) and bool(
            (nodes.point_of[1:] > nodes.point_of[:-1]).all()
        )

    def describe(self) -> dict[str, Any]:
        """The preconditioner, for the report."""
        return self.operator.describe()

    @property
    def theta(self) -> torch.nn.Parameter:
        """The weights (p,)."""
        return self.network.theta

    @property
    def size(self) -> int:
        """Number of residuals N."""
        return self._count

    def unknowns(self, theta: Tensor | None = None) -> Tensor:
        """u at the nodes, (N,), differentiable in theta (the network's own by default), over the whole team."""
        if theta is not None:
            values = self._placed.evaluate(self.team.shared(theta))
        elif torch.is_grad_enabled():
            values = self._placed.evaluate(self.team.shared(self.theta), fused=True)
        else:
            values = self._placed.values()
        return self._gathered(values)

    def _gathered(self, values: Tensor) -> Tensor:
        """(M, outputs) at the points -> (N,) at the degrees of freedom."""
        return values[:, 0] if self._in_order else values[self.point_of, self.component_of]

    def features(self) -> PlacedNetwork:
        """What the last layer sees at the points, a table of M rows.

        Raises:
            PcpinnError: for a network that does not show its layers.
        """
        if not isinstance(self._placed, PlacedNetwork):
            raise no_layers(self.network, "solving for the last layer")
        return self._placed

    def residual(self) -> Tensor:
        """(N,), differentiable in theta."""
        return self.operator(self.unknowns()) * self.scale

    def loss(self) -> Tensor:
        """0.5 ||residual||^2."""
        r = self.residual()
        return self.team.total(0.5 * (r @ r))

    def jacobian(self, rows: Tensor | None = None, dtype: torch.dtype | None = None) -> Tensor:
        """d u / d theta at the given degrees of freedom (all by default): (m, p). The operator is not applied."""
        point, component = self.point_of, self.component_of
        if rows is not None:
            point, component = point[rows], component[rows]
        return self.network.jacobian(self.points[point], component, dtype)

    def known_residual(self) -> Tensor:
        """The residual without derivatives; kept if the last one was at the same weights."""
        theta = self.theta.detach()
        if self._known is None or not torch.equal(self._known[0], theta):
            with torch.no_grad():
                self._known = theta.clone(), self.residual()
        return self._known[1]

    def norm(self) -> float:
        """||residual|| of the whole team, no derivatives."""
        return math.sqrt(2 * self.value())

    def gradient(self, residual: Tensor) -> Tensor:
        """J^T of the residual (N,), through the operator: one transposed application of P."""
        pulled = self.operator.apply_transpose(residual) * self.scale
        (gradient,) = torch.autograd.grad(self.unknowns(), self.theta, pulled)
        return gradient

    def value(self) -> float:
        """The loss, no derivatives."""
        r = self.known_residual()
        return 0.5 * float(self.team.sum(r @ r))

    def resolve(self, recipe: Forms) -> tuple[str, int]:
        """The form of Gauss-Newton's matrix, and the number of nodes in it.

        Raises:
            PcpinnError: when the form asked for does not fit into memory.
        """
        return choose_form(recipe, self.network.parameter_count, self.size, self.points.device, self._shared, True)

    def model_here(self, recipe: Forms, state: State) -> Model:
        """At the present weights; draws the nodes of a Gram matrix."""
        gradient, exact = self.gradient(self.known_residual()), recipe.matrix == "exact"
        return Model(
            self.value(),
            gradient,
            self.curvature(recipe, state),
            lambda v: self.curving(v, through_operator=exact),
            _TRUSTED_BEND,
        )

    def curvature(self, recipe: Forms, state: State) -> Curvature:
        """J^T J of the residual, or of the network alone: see `GaussNewton`."""
        form, m = self.resolve(recipe)
        if form == "exact":
            rows_of_all = self.operator.apply(self.jacobian()) * self.scale
            return SharedPrimal([rows_of_all], self.team) if self._shared else of_rows(rows_of_all)
        sample = sample_rows(self.weights, m, state, recipe.even, self.team, self.size)
        rows, weights = sample or (None, self.weights)
        factor = weights.sqrt() * self.scale
        if form == "matrix-free":
            return self._matrix_free(rows, factor)
        at_once = rows_at_once(recipe, self.network.parameter_count, self.points.device)
        if self._shared:  # in double precision: what is left of a float32 sum depends on how rows are dealt out
            return SharedPrimal(self._jacobians(rows, factor, at_once), self.team)
        on_cpu = self.points.device.type == "cpu"
        dtype = torch.float32 if on_cpu and float(state["damping"]) > _SINGLE_ABOVE else factor.dtype
        if m > max(at_once, self.network.parameter_count):
            return Primal.of_parts(self._jacobians(rows, factor.to(dtype), at_once))
        return of_rows(self.jacobian(rows, dtype).mul_(factor.to(dtype)[:, None]))

    def _jacobians(self, rows: Tensor | None, factor: Tensor, at_once: int) -> Iterator[Tensor]:
        """Rows of the network's Jacobian, times a factor each, a part at a time."""
        rows = torch.arange(len(factor), device=factor.device) if rows is None else rows
        for own, times in zip(rows.split(at_once), factor.split(at_once), strict=True):
            yield self.jacobian(own, factor.dtype).mul_(times[:, None])

    def _matrix_free(self, rows: Tensor | None, factor: Tensor) -> MatrixFree:
        theta = self.theta.detach()
        point = self.point_of if rows is None else self.point_of[rows]
        component = self.component_of if rows is None else self.component_of[rows]
        x = self.points[point]

        def values(weights: Tensor) -> Tensor:
            return self.network.evaluate(weights, x).gather(1, component[:, None])[:, 0] * factor

        pull = torch.func.vjp(values, theta)[1]

        def product(v: Tensor) -> Tensor:
            pushed = torch.func.jvp(values, (theta,), (v,))[1]
            return self.team.sum(pull(pushed)[0])

        # Hutchinson's estimate of the trace, with a fixed probe: the unit of damping need not be exact.
        probe = torch.ones_like(theta)
        probe[::2] = -1
        return MatrixFree(product, float(probe @ product(probe)) / theta.numel())

    def curving(self, v: Tensor, through_operator: bool = True) -> Tensor:
        """J^T r'' for the second derivative r'' of the residual along v (p,): what bends the path away from a straight step.

        Without the operator P^-1 A counts as the identity, as it does in a Gram matrix of the network alone.
        """
        theta = self.theta.detach()
        with torch.no_grad():
            bend = self._gathered(self._placed.bend(theta, v))
            pulled = (
                self.operator.apply_transpose(self.operator.apply(bend)) if through_operator else self.weights * bend
            ) * self.scale**2
        weights = theta.clone().requires_grad_(True)
        (gradient,) = torch.autograd.grad(self.unknowns(weights), weights, pulled)
        return gradient


@torch.no_grad()
def rescale_outputs(network: Network, operator: Preconditioned) -> None:
    """Give a network's outputs the unit of the solution: 1, unless P^-1 b says that it is much larger or smaller."""
    if network.output_scale.ndim:  # each output has a unit of its own
        return
    size = operator.target_norm / operator.team.number(float(operator.weights.sum())) ** 0.5
    network.output_scale.fill_(size if math.isfinite(size) and size > 0 and not 0.1 < size < 10 else 1.0)
