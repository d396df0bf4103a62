"""Discrete marches: nodal values step by step, no network involved. They choose steps and meshes, and measure errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse.linalg as spla
import torch
from torch import Tensor

from ...discretize.linear_solves import solve_krylov
from ...discretize.newton import Solve, newton
from ...discretize.step_scheme import Layers, StepScheme, step_scheme
from ...discretize.wellposed import below_zero
from ...discretize.window import MarchSpace, Window, WindowMatrix
from ...errors import PcpinnError
from ...precondition.refined import RefinedSolver
from ...precondition.stages import Stages, StageSolver
from ...problem.timed import timed_functions
from .linear_steps import LinearSteps

_TOLERANCE = 1e-9
_STEPS = 25
_KEPT = 12  # factors of steps of different lengths that are kept, where matrices are constant
_RELINEARISED = 4
_BY_KRYLOV = 1e-10
_SHORTEST = 1e-10  # of the span: steps that are halved no more
_GROWTH = 2.0  # from one step to the next, after one that had to be halved
_TABLES = 8  # of interpolation that are kept
_RAN_OFF = (
    1e4  # times the size of a field at a step's start: where coefficients flatten out, far away is a solution, too
)


class StepFailed(PcpinnError):
    """Newton's method does not converge in a step.

    Attributes:
        step: its number.
        t: its end.
    """

    def __init__(self, step: int, t: float, why: str = "", remedy: str | None = None) -> None:
        self.step, self.t = step, t
        usual = "check signs and conditions; if they are right, the solution may not exist that long"
        super().__init__(f"the step to t = {t:g} cannot be solved{why}", remedy or usual)


def tried(failed: Sequence[tuple[int, float]]) -> str:
    """Marches that failed, in words."""
    return "tried " + ", ".join(f"{count} steps (until t = {t:.3g})" for count, t in failed)


@dataclass(frozen=True)
class DiscreteMarch:
    """The values of a march.

    Attributes:
        space: the problem in space.
        scheme: of each step.
        times: (S + 1,) ends of the steps.
        values: (1 + S m, n) at the start and at all new time levels.
    """

    space: MarchSpace
    scheme: StepScheme
    times: np.ndarray
    values: np.ndarray

    def within(self, step: int, places: np.ndarray) -> np.ndarray:
        """(k, n) values at places (k,) of a step, from 0 at its start to 1 at its end, by the scheme's polynomial."""
        first, m, key = step * self.scheme.order, self.scheme.order, places.tobytes()
        if key not in self._tables:  # the same places are asked for in every step
            if len(self._tables) >= _TABLES:
                self._tables.clear()
            self._tables[key] = self.scheme.interpolation(places)
        return self._tables[key] @ self.values[first : first + m + 1]

    @property
    def lowest(self) -> np.ndarray:
        """(C,) least value of each component."""
        return lowest(self.space, self.values)

    @cached_property
    def _tables(self) -> dict[bytes, np.ndarray]:
        return {}

    def at(self, times: np.ndarray) -> np.ndarray:
        """(k, n) values at moments (k,)."""
        step, places = self._placed(times)
        result, m = np.empty((len(times), self.values.shape[1])), self.scheme.order
        table = self.scheme.interpolation(places)
        for s in np.unique(step):
            own = step == s
            result[own] = table[own] @ self.values[s * m : (s + 1) * m + 1]
        return result

    def rates_at(self, t: float) -> np.ndarray:
        """(n,) rates of change at a moment; at the end of a step those of the step."""
        (step,), places = self._placed(np.array([t]))
        m = self.scheme.order
        table = self.scheme.rates(places)[0] / (self.times[step + 1] - self.times[step])
        return np.asarray(table @ self.values[step * m : (step + 1) * m + 1])

    def _placed(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the steps that moments (k,) are in, and their places there."""
        step = np.clip(np.searchsorted(self.times, times, side="left") - 1, 0, len(self.times) - 2)
        return step, np.clip((times - self.times[step]) / np.diff(self.times)[step], 0.0, 1.0)


def march_discrete(
    space: MarchSpace,
    scheme: str,
    order: int,
    times: np.ndarray,
    told: Callable[[int], None] | None = None,
    halving: bool = False,
) -> DiscreteMarch:
    """Step through time with one-step schemes (radau, gauss).

    Args:
        space: the problem in space.
        scheme, order: of the steps.
        times: (S + 1,) their ends.
        told: called with the number of each finished step; it may raise to stop.
        halving: halve steps that cannot be solved, and grow slowly from there; the march then has more times than were given.

    Raises:
        StepFailed: when a step cannot be solved.
    """
    steps = step_scheme(scheme, order)
    known = space.initial_values()[None]
    values = [known.cpu().numpy()]
    kept: dict[float, StageSolver] = {}
    linear = LinearSteps(space) if space.form.constant else None
    last: Tensor | None = None
    k, least, longest = 0, _SHORTEST * float(np.ptp(times)), np.inf
    while k < len(times) - 1:
        start, end = float(times[k]), float(times[k + 1])
        if end - start > 1.01 * longest:  # after steps that had to be halved
            times = np.insert(times, k + 1, start + longest)
            continue
        window = Window(space, Layers(steps, np.array([start, end]), k == 0), known)
        same = k > 0 and last is not None and abs((end - start) - (times[k] - times[k - 1])) < 1e-9 * (end - start)
        guess = _continued(steps, last) if same and last is not None else known.repeat(steps.order, 1)
        U = None if linear is None else _solve_linear(window, guess, kept, linear)
        if U is None:
            if linear is not None:
                linear = None
                space.form.forget_constants()
                kept.clear()
            U = _solve(window, guess, kept)
        if U is None and same:
            kept.clear()
            U = _solve(window, known.repeat(steps.order, 1), kept)
        failed = U is None or not bool(torch.isfinite(U).all())
        if failed and halving and end - start > least:
            longest = (end - start) / 2
            continue
        if U is None or failed:
            why = f", not even one of length {end - start:.1e}" if halving else ""
            raise StepFailed(k, float(end), why, remedy=below_zero(space.problem, lowest(space, known.cpu().numpy())))
        if k == 0 and (start_values := space.first_values(steps, U)) is not None:
            known = start_values[None]
            values = [known.cpu().numpy()]
        last, known = torch.cat([known, U]), U[-1:]
        values.append(U.cpu().numpy())
        if told is not None:
            told(k)
        k, longest = k + 1, longest * _GROWTH
    return DiscreteMarch(space, steps, times, np.concatenate(values))


def lowest(space: MarchSpace, values: np.ndarray) -> np.ndarray:
    """(C,) least value of each component, of time levels (k, n)."""
    component = space.form.space.unknown_components
    return np.array([values[:, component == c].min() for c in range(space.components)])


def _continued(steps: StepScheme, last: Tensor) -> Tensor:
    """The polynomial of a step, continued over the next of the same length."""
    return torch.from_numpy(steps.interpolation(1 + steps.nodes)).to(last) @ last


def _solve_linear(window: Window, guess: Tensor, kept: dict[float, StageSolver], linear: LinearSteps) -> Tensor | None:
    length, matrix = _length(window), window.linearise(guess)
    try:
        solver = kept.get(length) or _keep(kept, length, matrix)
    except PcpinnError:
        return None
    return linear.solve(window, guess, solver.on(matrix).apply, length)


def _length(window: Window) -> float:
    """Of its steps, without what rounding makes of equal ones."""
    return float(f"{window.layers.length:.9g}")


def _keep(kept: dict[float, StageSolver], length: float, matrix: WindowMatrix) -> StageSolver:
    solver = Stages(solves="factors").build(matrix)  # polynomials are too coarse to go on from
    if len(kept) >= _KEPT:
        kept.clear()
    kept[length] = solver
    return solver


def _by_krylov(matrix: WindowMatrix, inverse: Solve[Tensor], r: Tensor) -> Tensor:
    """A^-1 r, where matrices of the stages differ too much for the inverse of their mean: a jump of coefficients that moves.

    Raises:
        PcpinnError: when that does not help either.
    """

    def of(apply: Callable[[Tensor], Tensor]) -> Callable[[np.ndarray], np.ndarray]:
        return lambda v: apply(torch.from_numpy(v).to(r).view_as(r)).cpu().numpy().ravel()

    A = spla.LinearOperator((r.numel(), r.numel()), matvec=of(matrix.apply))
    found = solve_krylov(A, r.cpu().numpy().ravel(), of(inverse), _BY_KRYLOV)
    if found is None:
        raise PcpinnError("a step's equations cannot be solved by Krylov steps", "shorten the steps")
    return torch.from_numpy(found).to(r).view_as(r)


def _ran_off(window: Window, U: Tensor) -> bool:
    """Whether a field is larger by orders of magnitude than it was, and than what is prescribed.

    Corrections relative to such values are small, and whole steps of Newton's method that overshot are said to have converged.
    """
    space, before = window.space, window.known[-1:].repeat(len(U), 1)
    before[:, space.constrained] = torch.where(space.is_slave, before[:, space.constrained], window.prescribed)
    size = window.sizes(before)
    return bool((window.sizes(U) > _RAN_OFF * size)[size > 0].any())


def _solve(window: Window, guess: Tensor, kept: dict[float, StageSolver]) -> Tensor | None:
    constant, length = window.space.form.constant, _length(window)
    refinement = 0 if constant else 1  # exact factors need none: Newton's second step is one

    def invert(matrix: WindowMatrix) -> Solve[Tensor]:
        solver = kept.get(length)
        if solver is None or not constant:
            solver = _keep(kept, length, matrix)
        return RefinedSolver(solver.on(matrix), matrix, refinement).apply

    at_hand = None
    if length in kept and not constant:
        matrix = window.linearise(guess)
        at_hand = RefinedSolver(kept[length].on(matrix), matrix, refinement).apply
    try:
        found = newton(
            window,
            guess,
            invert,
            _TOLERANCE,
            _STEPS,
            damped=False,
            at_hand=at_hand,
            refresh=_STEPS if constant else _RELINEARISED,
        )
        if not constant and (not found.converged or _ran_off(window, found.u)):
            found = newton(window, guess, invert, _TOLERANCE, _STEPS, damped=True)
        if not found.converged and not constant and timed_functions(window.space.problem):

            def exactly(matrix: WindowMatrix) -> Solve[Tensor]:
                return partial(_by_krylov, matrix, _keep(kept, length, matrix).on(matrix).apply)

            found = newton(window, guess, exactly, _TOLERANCE, _STEPS, damped=True)
    except PcpinnError:
        return None
    return found.u if found.converged else None
