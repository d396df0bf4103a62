"""Every choice of a solve, flat and typed: the same keys for the library, the presets and `--set key=value`."""

from __future__ import annotations

import difflib
import math
import operator
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from ..errors import PcpinnError

PerAxis = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Settings:
    """How to discretise, precondition, represent and train.

    Discretisation
        discretisation: fem (finite elements) or fdm (finite differences on a box).
        mesh_size: target size of cells; None takes 1/25 of the domain.
        cells: number of cells along each axis of a box, instead of mesh_size.
        time_cells: number of cells (slabs) along time.
        time_scheme: of problems over time: simplex (time is a coordinate like the others), or slabs with polynomials in time:
            radau (first order in time, damping), gauss (first order in time, conserving), galerkin (conditions at both ends).
            With march, also euler, crank-nicolson and bdf2.
        march: 0 solves all of time at once, with time as an input of one network; k > 0 marches in windows of k slabs (steps),
            with a network of space per window that has a head per layer and begins with the weights of the window before.
        time_order: layers per slab; time_halvings: how often the first slab is cut in half, for a sudden start (the network then
            gets sqrt(t) as an input too).
        degree: polynomial degree of the elements (a field may have its own).
        curved: use curved triangles along curved boundaries.
        curvature: cells per radius of curvature; grading: how fast cells grow (0 slow, 1 fast).
        layers: lines of a structured mesh on either side of each kink (see below), closer and closer; lines run through the
            kinks in any case.
        quadrature: order of the quadrature; None derives it from the degree.
    Preconditioner
        preconditioner: auto (time-order for radau and gauss, separable for galerkin, else ilu), ilu, lu, amg (multigrid, for
            symmetric elliptic problems), time-order (slab by slab, ilu in each), separable, jacobi, row-balancing or none.
        drop_tolerance, fill_factor: of ilu; drop_tolerance=auto lowers it until the quality of P, ||I - P^-1 A|| on smooth
            functions, is below quality_target, within memory_gib.
        amg_cycles: multigrid cycles per application.
        refinement: fixed steps x <- x + P^-1 (r - A x) after each application of P^-1.
        sweep_tolerance: relative error of triangular solves on a GPU.
        ordering: of ilu's elimination: colamd, or mmd (smaller and faster for diffusion, bad for waves).
        dense: hold P^-1 A as a dense matrix (true, false, auto).
        weights: mass (the residual's norm approximates L2 of the domain) or uniform (the paper's plain norm).
    Network
        width, depth: hidden layers (depth=0: linear in the features); activation: tanh, silu, gelu, sin.
        initialisation: torch, glorot-normal, glorot-uniform, he-normal, he-uniform.
        features: none, log or gaussian Fourier features; feature_count, feature_low, feature_high (exponents of 2, log),
            feature_std (gaussian); or list, with frequencies along each axis, in radians per unit, such as 6.28;6.28;4.44,8.31;
            or, best with depth=0, waves on periodic boxes (all plane waves of at most feature_count per period) and cosines on
            boxes without flow through the walls (products of at most feature_count half waves).
        kinks: coordinates along each axis where the slope of the solution jumps (interfaces of materials), such as -2,2;0 for
            x = -2, x = 2 and y = 0: the network gets |x + 2|, |x - 2| and |y| as further inputs.
        corners: points where the solution is singular, such as 0,1;1,1: the network gets the logarithm of the distance and
            the direction from each; unstructured meshes are graded towards them, down to cells of corner_size.
    Marching
        tolerance is the relative size of Newton's correction at which a window is done (0: 1e-6), and iterations are those of the
            optimiser per Newton step, after head_steps least-squares steps of the last layer; start_iterations: on the
            initial values.
        step_solves: how the systems of a step are solved in P: auto, factors, dense, polynomial.
        refresh: P is built anew every so many windows, and when it has become bad.
        causality: in windows of several steps, how strongly later ones wait for earlier ones (0 not at all).
        discrete: march the discrete solution beside the network, to tell the parts of the error apart.
    Training
        optimiser: auto, gauss-newton, adam, lbfgs or soap; iterations; tolerance: relative residual (an estimate of the
            training error) at which to stop; time_limit in seconds; patience: stop after so many iterations with hardly any
            gain (0 never; None: 20 for gauss-newton, never for others).
        form (auto, gram, exact, matrix-free), sample, damping, accelerate: of gauss-newton.
        learning_rate, beta1, beta2: of adam and soap.
        memory_gib: what preconditioner and Gauss-Newton's matrices may take, each (the latter a quarter of a GPU if more).
        precision: float64 or float32.
        seed, device (auto, cpu, cuda), checkpoint_every (seconds).
        certify: estimate the total error on a finer discretisation at the end.
    Nonlinear problems (iterations, tolerance and time_limit count for all of Newton's steps together)
        linearisation: newton (derivative at the network's own values, in every step) or linear-part (that at u = 0 in all steps,
            nonlinear terms on the right-hand side: one P, linear convergence, for mild nonlinearities).
        newton_iterations: at most so many steps.
        forcing: each step is trained until its residual is this part of the correction it makes, or less as Newton's
            method gains speed; 0 gives every step an equal share of the iterations instead.
    Ordinary PINN (a baseline: the strong form at random points instead of a discretisation)
        collocation: number of points inside, drawn once; those on the boundary are as dense.
        boundary_weight: of the mean squared residual of each condition, beside that of the PDE.
        conditions: soft (all conditions are penalties) or hard (Dirichlet and initial values hold exactly, by the form of u).
    """

    discretisation: Literal["fem", "fdm"] = "fem"
    mesh_size: float | None = None
    cells: tuple[int, ...] | None = None
    time_cells: int | None = None
    time_scheme: Literal["simplex", "radau", "gauss", "galerkin", "euler", "crank-nicolson", "bdf2"] = "simplex"
    march: int = 0
    time_order: int = 3
    time_halvings: int = 0
    degree: int = 2
    curved: bool = True
    curvature: float | None = None
    grading: float | None = None
    layers: int = 0
    quadrature: int | None = None

    preconditioner: Literal[
        "auto", "ilu", "lu", "amg", "time-order", "separable", "jacobi", "row-balancing", "none"
    ] = "auto"
    drop_tolerance: float | Literal["auto"] = "auto"
    ordering: Literal["colamd", "mmd"] = "colamd"
    fill_factor: float = 20.0
    quality_target: float = 0.02
    amg_cycles: int = 3
    refinement: int = 0
    sweep_tolerance: float = 1e-6
    dense: Literal["auto", "true", "false"] = "auto"
    weights: Literal["mass", "uniform"] = "mass"

    width: int = 24
    depth: int = 3
    activation: str = "tanh"
    initialisation: str = "glorot-normal"
    features: Literal["none", "log", "gaussian", "list", "waves", "cosines"] = "log"
    feature_count: int = 4
    feature_low: float = -2.0
    feature_high: float = 1.0
    feature_std: float = math.pi
    kinks: PerAxis | None = None
    frequencies: PerAxis | None = None
    corners: PerAxis | None = None
    corner_size: float = 1e-3

    head_steps: int = 8
    start_iterations: int = 100
    step_solves: Literal["auto", "factors", "dense", "polynomial"] = "auto"
    refresh: int = 1
    causality: float = 0.0
    discrete: bool = True

    optimiser: Literal["auto", "gauss-newton", "adam", "lbfgs", "soap"] = "auto"
    iterations: int = 60
    tolerance: float = 0.0
    time_limit: float = math.inf
    patience: int | None = None
    form: Literal["auto", "gram", "exact", "matrix-free"] = "auto"
    sample: int = 0
    damping: float = 1e-2
    accelerate: bool = True
    memory_gib: float = 4.0
    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.99
    precision: Literal["float64", "float32"] = "float64"
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    checkpoint_every: float = 10.0
    certify: bool = True

    linearisation: Literal["newton", "linear-part"] = "newton"
    newton_iterations: int = 20
    forcing: float = 0.1

    collocation: int = 4096
    boundary_weight: float = 1.0
    conditions: Literal["soft", "hard"] = "soft"

    def __post_init__(self) -> None:
        for key, expected in self.types().items():
            object.__setattr__(self, key, _convert(key, getattr(self, key), expected))
        positive = ("width", "degree", "drop_tolerance", "fill_factor", "mesh_size", "time_cells",
                    "time_order", "time_limit", "learning_rate", "damping", "memory_gib", "curvature", "quadrature",
                    "collocation", "boundary_weight", "quality_target", "amg_cycles", "sweep_tolerance",
                    "newton_iterations", "refresh", "corner_size")  # fmt: skip
        for key in positive + (() if self.march else ("iterations",)):  # a march may solve for the last layer alone
            value = getattr(self, key)
            if value is not None and value != "auto" and not value > 0:
                raise PcpinnError(f"{key}={value:g} must be positive", f"leave {key} out to take its default")
            if value == math.inf and key != "time_limit":
                raise PcpinnError(f"{key} is infinite", f"leave {key} out to take its default")
        for key in ("sample", "layers", "tolerance", "checkpoint_every", "patience", "refinement", "time_halvings",
                    "march", "head_steps", "start_iterations", "causality", "iterations", "depth"):  # fmt: skip
            value = getattr(self, key)
            if value is not None and (value < 0 or value == math.inf):
                raise PcpinnError(
                    f"{key}={value:g} must be finite and not negative", f"leave {key} out to take its default"
                )
        for key in ("beta1", "beta2"):
            if not 0 <= getattr(self, key) < 1:
                raise PcpinnError(
                    f"{key}={getattr(self, key):g} is outside [0, 1)", "the usual values are 0.9 and 0.99"
                )
        if not 0 <= self.forcing < 1:
            raise PcpinnError(f"forcing={self.forcing:g} is outside [0, 1)", "the usual value is 0.1")
        if abs(self.seed) >= 2**63:
            raise PcpinnError(f"seed={self.seed} is too large", "take one below 2^63")

    def updated(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some keys changed; values may be text, as on the command line.

        Raises:
            PcpinnError: for an unknown key or a value of the wrong kind.
        """
        known = self.types()
        for key in changes:
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                raise PcpinnError(
                    f"there is no setting {key!r}",
                    f"did you mean {close[0]!r}?" if close else f"settings: {', '.join(known)}",
                )
        return replace(self, **{k: _convert(k, v, known[k]) for k, v in changes.items()})

    @classmethod
    def types(cls) -> dict[str, Any]:
        """The type of each setting."""
        return typing.get_type_hints(cls)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: no infinities, no tuples."""
        data = asdict(self)
        return {k: None if v == math.inf else _as_lists(v) for k, v in data.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        restored = {**data, "time_limit": math.inf if data.get("time_limit") is None else data["time_limit"]}
        return cls().updated(restored)


def _convert(key: str, value: Any, expected: Any) -> Any:
    """Turn text or a near miss into the expected type, or refuse it."""
    is_union = typing.get_origin(expected) in (types.UnionType, typing.Union)
    options = typing.get_args(expected) if is_union else (expected,)
    if type(None) in options and (value is None or value == "none"):
        return None
    kind = next(o for o in options if o is not type(None))
    words = [w for o in options if is_union and typing.get_origin(o) is Literal for w in typing.get_args(o)]
    if isinstance(value, str) and value in words:
        return value
    try:
        if typing.get_origin(kind) is Literal:
            choice = str(value).lower() if isinstance(value, bool) else str(value)
            if choice not in typing.get_args(kind):
                raise ValueError
            return choice
        if kind == PerAxis:
            return _per_axis(value)
        if typing.get_origin(kind) is tuple:
            parts = value.replace("x", ",").split(",") if isinstance(value, str) else value
            result = tuple(_whole(v) for v in ([parts] if np.isscalar(parts) else parts))
            if not result or min(result) < 1:
                raise ValueError
            return result
        if kind is bool:
            return {"true": True, "false": False}[str(value).lower()]
        if kind is int:
            return _whole(value)
        if kind is float:
            number = float(value)
            if math.isnan(number) or isinstance(value, bool):
                raise ValueError
            return number
        if not isinstance(value, str):
            raise ValueError
        return value
    except (ValueError, TypeError, KeyError, OverflowError):
        wanted = (
            " or ".join(typing.get_args(kind))
            if typing.get_origin(kind) is Literal
            else _NAMES.get(kind, "whole numbers, such as 40,40")
        )
        raise PcpinnError(f"{key}={value!r} does not fit", f"give {' or '.join([wanted, *words])}") from None


_NAMES = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a name",
    PerAxis: "numbers along each axis, such as -2,2;0",
}


def _per_axis(value: Any) -> PerAxis | None:
    """Lists of numbers from text ("-2,2;0"), tuples or lists; None if there are none."""
    axes = [a.split(",") if a.strip() else [] for a in value.split(";")] if isinstance(value, str) else value
    if any(isinstance(c, bool) for axis in axes for c in axis):
        raise ValueError
    lists = tuple(tuple(float(c) for c in axis) for axis in axes)
    if not all(math.isfinite(c) for axis in lists for c in axis):
        raise ValueError
    return lists if any(lists) else None


def _as_lists(value: Any) -> Any:
    return [_as_lists(v) for v in value] if isinstance(value, tuple) else value


def _whole(value: Any) -> int:
    """An integer, from text too; "1e4" is one."""
    if isinstance(value, bool):
        raise ValueError
    try:
        return operator.index(int(value) if isinstance(value, str) else value)
    except (ValueError, TypeError):
        number = float(value)
        if number != int(number):
            raise ValueError from None
        return int(number)
