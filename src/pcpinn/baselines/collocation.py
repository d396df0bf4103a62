"""The strong form of a problem at random points as a loss, with the pieces that methods add to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.pointwise import Pointwise
from ..errors import PcpinnError
from ..mesh.points import boundary_size, interior_points, spacing_of
from ..mesh.slab_mesh import ENDS, AnyMesh
from ..network.ansatz import Located
from ..network.dense import DenseNetwork
from ..network.protocol import Network
from ..problem.problem import Problem
from ..solve.settings import Settings
from ..strong.conditions import Spacing, named_terms
from ..strong.form import Term, strong_residual
from ..strong.hard import make_ansatz
from ..strong.jetted import Jetted, jetted
from ..strong.local_heads import head_rows
from ..strong.walls import Walls
from ..train import Loss, graph
from ..train.last_layer import head_jacobian
from .piece import Draw, GradientPiece, Piece, RepeatedPiece, part_gradients
from .recipe import Collocation

EQUATIONS = "equations"
_AT_ONCE = 1024  # points inside whose derivatives by the last layer are computed together


class StrongLoss(Loss):
    """0.5 (mean squared residual of the PDE + boundary_weight * mean squared residual of each condition), and what pieces add.

    The means are summed over components and conditions. Nothing scales the loss: unlike that of `LeastSquares`, it is no
    relative error, nor an estimate of one.

    Args:
        network, problem: u_theta and the PDE.
        points: (n, d) inside.
        terms: the conditions, by name or not.
        boundary_weight: that the terms have already; for the record.
        name: of the method.
        pieces: what it adds.
        equations: the residual of the PDE, in place of that at the points; its squares are added up.
        draw: more points inside, for pieces that look for some.
        seed: of their random numbers.

    Attributes:
        seen: the network, with its jets at points that stay where they are, if it has them.
        weights: (k,) of the parts: equations, terms, what pieces add.
        captures: whether changes of pieces are captured as graphs.
    """

    def __init__(
        self,
        network: Network,
        problem: Problem,
        points: Tensor,
        terms: Sequence[Term] | Mapping[str, Term],
        boundary_weight: float,
        *,
        name: str = "pinn",
        pieces: Sequence[Piece] = (),
        equations: Callable[[StrongLoss], Tensor] | None = None,
        draw: Draw | None = None,
        seed: int = 0,
    ) -> None:
        named = terms if isinstance(terms, Mapping) else {f"condition {k}": term for k, term in enumerate(terms)}
        self.network, self.terms, self.boundary_weight = network, list(named.values()), boundary_weight
        self.name, self.pieces, self.draw, self.seed = name, list(pieces), draw, seed
        self.names = [EQUATIONS, *named, *(extra for piece in pieces for extra in piece.extra)]
        self.pointwise = Pointwise(problem, strong=True)
        self._walls = Walls(self.terms)
        self.weights = torch.ones(len(self.names), dtype=points.dtype, device=points.device)
        self._changes = {what for piece in pieces for what in piece.changes}
        self._equations = equations
        self._within: list[GradientPiece] = []
        self.captures = points.device.type == "cuda"
        self._sizes: list[int] | None
        self._graphs: dict[int, tuple[Callable[[], None], list[Tensor]]]
        self.take_points(points)
        self._sizes = self._try_out()

    @property
    def theta(self) -> torch.nn.Parameter:
        """The weights (p,)."""
        return self.network.theta

    @property
    def sizes(self) -> list[int]:
        """Numbers of residuals of the parts."""
        if self._sizes is None:
            self._sizes = self._try_out()
        return self._sizes

    def take_points(self, points: Tensor) -> None:
        """Replace the points inside."""
        self.points, self.layout = points, self.layout + 1
        self._sizes, self._graphs = None, {}
        self.seen = jetted(self.network)
        ansatz = None if isinstance(self.seen, Jetted) else self.network.ansatz
        self._located = None if ansatz is None else Located(ansatz, points, self.network.outputs)

    def parts(self, together: bool = False) -> list[Tensor]:
        """Residuals of the equations, of each term, and of what pieces add; not weighted.

        With `together` the terms share their passes through the network, which is less work unless gradients of one are wanted.
        """
        inside = self.equations() if self._equations is None else self._equations(self)
        extra = [r for piece in self.pieces for r in piece.residuals(self)]
        seen = self._walls.seen(self.seen) if together else self.seen
        return [inside, *(term.residual(seen) for term in self.terms), *extra]

    def equations(self) -> Tensor:
        """The PDE at the points, point by point; the sum of its squares is their mean."""
        network = self.seen if isinstance(self.seen, Jetted) else self._inside
        return (strong_residual(self.pointwise, network, self.points) * len(self.points) ** -0.5).reshape(-1)

    def residual(self) -> Tensor:
        """(m,), differentiable in theta: all parts, times the roots of their weights where there are weights."""
        parts = self.parts(together=True)
        if "weights" in self._changes:
            parts = [w.sqrt() * r for w, r in zip(self.weights, parts, strict=True)]
        return torch.cat(parts)

    def loss(self) -> Tensor:
        """0.5 ||residual||^2, and penalties."""
        r = self.residual()
        return self._with_penalties(0.5 * (r @ r))

    def begin(self, by_gradient: bool) -> None:
        """Let pieces whose turn it is at every step share the gradients that the step takes."""
        every = [p for p in self.pieces if isinstance(p, GradientPiece) and p.every == 1]
        alone = all(piece.penalty(self) is None for piece in self.pieces)
        self._within = every if by_gradient and alone else []

    def changing(self) -> list[Tensor]:
        """The weights, where pieces change them within steps."""
        return [self.weights] if self._within else []

    def value_and_gradient(self) -> tuple[Tensor, Tensor]:
        """The loss and its gradient: a sum of those of all parts, where pieces look at these anyway."""
        if not self._within:
            return super().value_and_gradient()
        losses, gradients = part_gradients(self)
        for piece in self._within:
            piece.weigh(self, gradients)
        return self.weights @ torch.stack(losses), self.weights @ torch.stack(gradients)

    def part_losses(self) -> list[Tensor]:
        """0.5 ||r||^2 of each part, not weighted."""
        return [0.5 * (r @ r) for r in self.parts()]

    def groups(self) -> list[Tensor]:
        """Weighted: the equations with what pieces add, and all conditions together."""
        # Not as one tensor: the gradient of a group must not run through the others, with zeros.
        parts = self.parts(together=True)
        losses = [w * 0.5 * (r @ r) for w, r in zip(self.weights, parts, strict=True)]
        last = 1 + len(self.terms)
        equations = self._with_penalties(torch.stack([losses[0], *losses[last:]]).sum())
        return [equations, torch.stack(losses[1:last]).sum()] if self.terms else [equations]

    def head_jacobian(self) -> tuple[Tensor, Tensor] | None:
        """Row by row at the points; where something hides the last layer, by differentiating twice; None for other networks."""
        network = self.network
        if not isinstance(network, DenseNetwork):
            return None
        if network.ansatz is not None or self.pieces or self._equations:
            return head_jacobian(self.residual, self.theta, network.head_size)
        n = len(self.points)

        def inside(points: Tensor, net: Any) -> Tensor:
            return (strong_residual(self.pointwise, net, points) * n**-0.5).reshape(-1)

        # A few points at a time: what the differentiation of one keeps is many times its rows.
        some = self.points.split(_AT_ONCE)
        rows = [head_rows(partial(inside, part), network, (1, len(part), network.outputs)) for part in some]
        rows += [head_rows(term.residual, network, term.shape) for term in self.terms]
        return torch.cat([r for r, _ in rows]), torch.cat([J for _, J in rows])

    def adapt(self, iteration: int) -> int:
        """Let pieces whose turn it is change weights and points."""
        waiting = [sys.maxsize]
        for piece in self.pieces:
            if piece.every and piece not in self._within:
                if iteration % piece.every == 0:
                    self._replayed(piece, iteration)
                waiting.append(piece.every - iteration % piece.every)
        return min(waiting)

    def _replayed(self, piece: Piece, iteration: int) -> None:
        """Let a piece change the loss; on a GPU from a graph, where the work is the same each time."""
        if not (self.captures and isinstance(piece, RepeatedPiece)):
            piece.adapt(self, iteration)
            return
        drawn = piece.draw(self, iteration)
        if id(piece) not in self._graphs:
            kept = [z.clone() for z in drawn]
            captured = graph.try_capture(lambda: piece.change(self, kept), [self.weights])
            self._graphs[id(piece)] = (captured or (lambda: piece.change(self, kept)), kept)
        replay, inputs = self._graphs[id(piece)]
        for z, new in zip(inputs, drawn, strict=True):
            z.copy_(new)
        replay()
        graph.mark_changed([self.weights])

    def random(self, iteration: int) -> np.random.Generator:
        """Random numbers of a piece, the same for a resumed training."""
        return np.random.default_rng([self.seed, iteration])

    def state(self) -> dict[str, Tensor]:
        """Weights and points, where pieces change them."""
        return {what: getattr(self, what) for what in sorted(self._changes)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`."""
        if "weights" in state:
            self.weights.copy_(state["weights"])
        if "points" in state:
            self.take_points(state["points"].to(self.points))

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""
        facts: dict[str, Any] = {
            "name": self.name,
            "collocation": len(self.points),
            "conditions": sum(term.size for term in self.terms),
            "boundary_weight": self.boundary_weight,
        }
        if "weights" in self._changes:
            facts["weights"] = dict(zip(self.names, self.weights.tolist(), strict=True))
        for piece in self.pieces:
            facts |= piece.describe(self)
        facts |= getattr(self._equations, "describe", dict)()
        ansatz = self.network.ansatz
        return facts if ansatz is None else {**facts, "hard_walls": len(ansatz.width)}

    def _inside(self, x: Tensor) -> Tensor:
        """The network at the points inside."""
        if self._located is None:
            return self.network(x)
        return self._located(x, self.network.bare(self.theta, x))

    def _with_penalties(self, loss: Tensor) -> Tensor:
        for piece in self.pieces:
            penalty = piece.penalty(self)
            loss = loss if penalty is None else loss + penalty
        return loss

    def _try_out(self) -> list[int]:
        """Sizes of all parts. What fails, fails here: with a message, before anything is written."""
        try:
            return [len(part) for part in self.parts()]
        except PcpinnError as error:
            if self.points.device.type == "cpu":
                raise
            raise PcpinnError(
                error.problem,
                f"the PINN evaluates the problem on {self.points.device.type}, where tensors among its constants must be, too: "
                "make them with x.new_tensor(...), or use device=cpu",
            ) from error


def collocation_loss(problem: Problem, mesh: AnyMesh, network: Network, settings: Settings) -> StrongLoss:
    """Draw the points, on the network's device and in its precision, and put the pieces of the method together."""
    recipe, like, seed = settings.loss, network.theta.detach(), settings.run.seed
    random = np.random.default_rng(seed)
    points = torch.as_tensor(interior_points(mesh, recipe.collocation, random)).to(like)
    if recipe.hard:
        ansatz = make_ansatz(problem, mesh.simplices)
        network.ansatz = None if ansatz is None else ansatz.to(like)
    pieces = recipe.pieces()
    apart = recipe.terms_apart
    spacing = _spacing(mesh, recipe)
    terms = named_terms(problem, mesh, spacing, recipe.boundary_weight, like, random, recipe.hard, apart)
    return StrongLoss(
        network,
        problem,
        points,
        terms,
        recipe.boundary_weight,
        name=settings.method.name,
        pieces=pieces,
        equations=recipe.equations(problem, mesh, like),
        draw=lambda count, generator: interior_points(mesh, count, generator),
        seed=seed,
    )


def _spacing(mesh: AnyMesh, recipe: Collocation) -> Spacing:
    """As dense as inside, or so that the walls together, and the start of time, have a given number of points."""
    count, d = recipe.boundary_points, mesh.dimension
    if count is None or d == 1:
        return spacing_of(mesh, recipe.collocation)
    ends = ENDS if mesh.has_time else ()
    walls = sum(boundary_size(mesh, name) for name in mesh.boundary_names if name not in ends)
    sizes = {name: boundary_size(mesh, name) if name in ends else walls for name in mesh.boundary_names}
    return lambda name: float((sizes[name] / count) ** (1 / (d - 1)))
