"""burgers1d: the paper's study of the condition number on Burgers' equation with a source; the viscosity is a parameter."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.fft
import torch

from ..errors import PcpinnError
from ..problem.conditions import Dirichlet, Initial
from ..problem.problem import Problem
from ..problem.shapes import Interval
from ..solution.reference import Reference
from .burgers1d_c import FRONT
from .entry import CATALOG, PAPER, Entry
from .evaluation import grid_points
from .makers.exponential import march

_X, _T = np.linspace(-1, 1, 201), np.linspace(0, 1, 51)
_LEAST = 2e-3  # the smallest viscosity whose layers the reference resolves in a second


def initial(x: torch.Tensor) -> torch.Tensor:
    """u at t = 0."""
    return -torch.sin(torch.pi * x[0])


def problem(nu: float | torch.Tensor) -> Problem:
    """u_t + u u_x - nu u_xx = sin(pi x)."""
    return Problem(
        Interval(-1.0, 1.0).over(0.0, 1.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: nu * u.grad,
        source=lambda x, u: u.value * u.grad[0] - torch.sin(torch.pi * x[0]),
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(initial),
        },
        name="burgers1d",
    )


@cache
def reference(nu: float) -> Reference:
    """A Fourier series on the circle of length 2 (u is odd, so it vanishes at -1, 0, 1), compared with a finer one.

    Raises:
        PcpinnError: for a viscosity that is too small for it.
    """
    if not _LEAST <= nu <= 100:
        raise PcpinnError(f"nu={nu:g} is out of the reference's reach", f"take nu from {_LEAST:g} to 100")
    size = _size(nu)
    coarse, fine = _series(nu, size, _X, _T, 1e-3), _series(nu, 2 * size, _X, _T, 5e-4)
    error = float(np.linalg.norm(coarse - fine) / np.linalg.norm(fine))
    points = grid_points(_X, _T)
    note = f"dealiased Fourier series of {2 * size} points, ETDRK4 in time; error: the difference from half of either"
    return Reference(points, fine.reshape(-1, 1), kind="certified", error=error, note=note)


def exact(x: np.ndarray, nu: float) -> np.ndarray:
    """u (n,) at points (n, 2) of a grid: the coarser of the reference's two series, at any of its places and times."""
    places, at = np.unique(x[:, 0], return_inverse=True)
    times, when = np.unique(np.append(x[:, 1], 0.0), return_inverse=True)
    u: np.ndarray = _series(nu, _size(nu), places, times, 1e-3)[at, when[:-1]]
    return u


def _size(nu: float) -> int:
    return int(2 ** np.ceil(np.log2(max(128, 6 / nu))))


def _series(nu: float, size: int, places: np.ndarray, times: np.ndarray, longest: float) -> np.ndarray:
    """u (places, times) with a given number of points, and time steps no longer than `longest`."""
    x = -1 + 2 * np.arange(size) / size
    k = np.arange(size // 2 + 1)
    kept = k < size / 3
    slope = np.where(kept, -0.5j * np.pi * k, 0.0)
    force = np.where(kept, scipy.fft.rfft(np.sin(np.pi * x)), 0.0)
    linear = np.where(kept, -nu * (np.pi * k) ** 2, 0.0)

    def nonlinear(v: np.ndarray, t: float) -> np.ndarray:
        product: np.ndarray = slope * scipy.fft.rfft(scipy.fft.irfft(v, size) ** 2) + force
        return product

    start = np.where(kept, scipy.fft.rfft(-np.sin(np.pi * x)), 0.0)
    steps = int(np.ceil(np.diff(times).max(initial=0.0) / longest - 1e-9)) or 1
    series = np.stack(list(march(linear, nonlinear, start, times, steps)), axis=1)  # (waves, times)
    waves = np.exp(1j * np.pi * (places[:, None] + 1) * k)
    twice = np.where(k > 0, 2.0, 1.0) / size
    values: np.ndarray = ((waves * twice) @ series).real
    return values


_OURS = FRONT | {"feature_high": 3.0}

ENTRY = Entry(
    name="burgers1d",
    title="Burgers' equation with a source and viscosity nu: a study of the condition number",
    equation="u_t + u u_x - nu u_xx = sin(pi x)",
    domain="[-1, 1], 0 < t < 1, step by step",
    conditions="u = 0 at the ends, u = -sin(pi x) at t = 0",
    problem=problem,
    reference=reference,
    parameters={"nu": 0.1},
    presets={
        "quick": _OURS | {"cells": (48,), "steps": 20, "width": 160, "tolerance": 1e-5},
        "default": _OURS | {"cells": (96,), "steps": 50, "width": 320, "tolerance": 1e-6},
        "paper": PAPER | {"cells": (500,), "steps": 20, "newton_iterations": 10, "forcing": 0.0},
    },
    remark="Belongs to the paper's study (nu from 0.01 to 1; see pcpinn study burgers), not to its tables; its paper preset "
    "takes the global settings on the mesh of that study.",
    order=230,
)
CATALOG.register(ENTRY)
