"""Pseudo-time continuation: a steady state approached as the end of a flow, where Newton's method alone does not get there.

M (v - u) / tau + F(v) = 0, one Newton step each, with tau growing as the corrections fall (Kelley and Keyes 1998).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from ..errors import PcpinnError
from .discrete_equation import DiscreteEquation
from .linear_solves import Factors
from .newton import direct, newton

_STEPS = 200
_GROWTH = 3.0
_TRY_EVERY = 8  # steps between two tries of Newton's method itself


def solve_pseudo_time(
    equation: DiscreteEquation, u: np.ndarray | None = None, tolerance: float = 1e-10
) -> np.ndarray | None:
    """The solution (N,) of F(u) = 0 from a first iterate; None if it is not found.

    Fields without a diagonal in the matrix, such as a pressure, have no rate of their own and follow the others.
    """
    try:
        u, A = _first(equation, u)
    except PcpinnError:
        return None
    mass = _mass(equation, A)
    with np.errstate(all="ignore"):
        rates = np.abs(A.diagonal())[mass != 0] / np.abs(mass[mass != 0])
    tau = 1.0 / (float(np.median(rates)) or 1.0) * 10 if len(rates) else math.inf
    size = _size(equation, u)
    for step in range(_STEPS):
        try:
            correction = Factors((A + sp.diags(mass / tau)).tocsr()).apply(equation.residual(u))
        except PcpinnError:
            return None
        trial = equation.moved(u, correction, 1.0)
        new = _size(equation, trial)
        if math.isfinite(new) and new <= 2 * size:
            u, tau = trial, tau * min(_GROWTH, max(1.0, 1.5 * size / new if new else _GROWTH))
            size = new
        else:
            tau /= 4
            if tau < 1e-12:
                return None
            continue
        if step % _TRY_EVERY == _TRY_EVERY - 1:
            found = newton(equation, u, direct, tolerance, 12)
            if found.converged:
                return equation.satisfied(found.u)
        A = equation.linearise(u).A
    return None


def _first(equation: DiscreteEquation, u: np.ndarray | None) -> tuple[np.ndarray, sp.csr_matrix]:
    """First iterate and derivative there: zero, or a bent surface where the equation is degenerate at zero.

    div(|grad u|^2 grad u) has no linear part where u is constant.
    """
    if u is not None:
        u = equation.satisfied(u)
        return u, equation.linearise(u).A
    flat = equation.satisfied(np.zeros(equation.size))
    try:
        return flat, equation.linearise(flat).A
    except PcpinnError:
        x = equation.discretisation.unknown_nodes
        low, high = x.min(axis=0), x.max(axis=0)
        bent = equation.satisfied((((x - low) / (high - low) + 0.5) ** 2).sum(axis=1) * (np.abs(flat).max() or 1.0))
        return bent, equation.linearise(bent).A


def _mass(equation: DiscreteEquation, A: sp.csr_matrix) -> np.ndarray:
    """(N,) lumped masses with the sign of each component's diffusion; none where values are prescribed.

    Diffusion is what is left of the diagonal without the effect on constants, which is reaction and may have any sign.
    """
    mass = equation.weights.copy()
    components = np.asarray(equation.discretisation.unknown_components)
    diagonal = A.diagonal()
    for k in range(equation.discretisation.components):
        constant = (components == k).astype(float)
        diagonal -= constant * (A @ constant)
    free = np.ones(len(mass), dtype=bool)
    free[equation.constraints.constrained] = False
    mass[~free] = 0.0
    scale = np.abs(A).max()
    for k in range(equation.discretisation.components):
        own = (components == k) & free
        middle = float(np.median(diagonal[own])) if own.any() else 0.0
        mass[own] *= np.sign(middle) if abs(middle) > 1e-12 * scale else 0.0
    return mass


def _size(equation: DiscreteEquation, u: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return float(np.linalg.norm(equation.residual(u)))
