"""What is known of a problem's condition, as plain records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh


@dataclass(frozen=True)
class Direction:
    """The error that the residual sees least, of L2 norm one.

    Attributes:
        points: (m, d).
        values: (m, C).
        names: (C,) of the components.
        has_time: whether the last coordinate is time.
        function: (n, d) -> (n, C), between the points too; mesh: where it lives.
    """

    points: np.ndarray
    values: np.ndarray
    names: tuple[str, ...]
    has_time: bool
    function: Callable[[np.ndarray], np.ndarray] = field(repr=False, compare=False)
    mesh: AnyMesh = field(repr=False, compare=False)

    def plot(self, path: str | Path, title: str = "the error that the residual sees least") -> Path:
        """A picture of it: .png, .pdf or .svg.

        Raises:
            PcpinnError: without matplotlib.
        """
        try:
            from ..solution.picture import draw
        except ModuleNotFoundError as error:
            raise PcpinnError(f"pictures need {error.name}", f"pip install {error.name}") from error
        return draw(self, Path(path), title=title)

    def __call__(self, x: Any) -> np.ndarray:
        """Its values (n, C) at points (n, d)."""
        return self.function(np.asarray(x, dtype=np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "points": self.points.tolist(),
            "values": self.values.tolist(),
            "names": list(self.names),
            "has_time": self.has_time,
        }


@dataclass(frozen=True)
class Preconditioned:
    """The same problem after preconditioning, A u = b -> P^-1 A u = P^-1 b, in the discrete L2 norm of the degrees of freedom.

    Attributes:
        preconditioner: its name; settings: what it says of itself (drop tolerance, fill).
        condition: ||P^-1 b|| / ||u|| * ||A^-1 P||; 1 for P = A. None where it could not be measured.
        inverse_norm: ||A^-1 P||; ratio: ||P^-1 b|| / ||u||.
        applied_error: ||P^-1 b - u|| / ||u||: how near a single application of P^-1 comes to the solution.
        note: why something is None.
    """

    preconditioner: str
    condition: float | None
    inverse_norm: float | None
    ratio: float
    applied_error: float
    settings: dict[str, Any]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "preconditioner": self.preconditioner,
            "condition": self.condition,
            "inverse_norm": self.inverse_norm,
            "ratio": self.ratio,
            "applied_error": self.applied_error,
            "settings": self.settings,
            "note": self.note,
        }


_NOTHING = 1e-12  # of the solution that the right-hand side would make; less is rounding


@dataclass(frozen=True)
class ConditionNumber:
    """cond = ||f|| / ||u|| * ||F^-1||, the largest relative error of u per relative error of f, norms being L2(Omega).

    Attributes:
        inverse_norm: ||F^-1||, of the derivative at the solution if F is nonlinear.
        norm_f, norm_u: L2 norms of the right-hand side and of the solution.
        method: fem, fdm or neural.
        dofs: number of degrees of freedom (weights of the network).
        linear: whether the problem is.
        worst: the direction that attains ||F^-1||.
        preconditioned: the same with P; None if not asked for.
        seconds: what it took; how: the solver, in words.
    """

    inverse_norm: float
    norm_f: float
    norm_u: float
    method: str
    dofs: int
    linear: bool
    worst: Direction
    preconditioned: Preconditioned | None = None
    seconds: float = 0.0
    how: str = ""

    @property
    def ratio_f_u(self) -> float | None:
        """||f|| / ||u||; None if one of them vanishes."""
        vanishes = self.norm_u == 0 or self.norm_f * self.inverse_norm <= _NOTHING * self.norm_u
        return None if vanishes else self.norm_f / self.norm_u

    @property
    def relative(self) -> bool:
        """Whether `condition` is relative."""
        return self.ratio_f_u is not None

    @property
    def condition(self) -> float:
        """The number; ||F^-1|| alone if it is not relative."""
        ratio = self.ratio_f_u
        return self.inverse_norm if ratio is None else ratio * self.inverse_norm

    def to_dict(self, direction: bool = False) -> dict[str, Any]:
        """Plain data for JSON; the worst direction, which is long, only if asked for."""
        result = {
            "condition": self.condition,
            "inverse_norm": self.inverse_norm,
            "ratio_f_u": self.ratio_f_u,
            "relative": self.relative,
            "norm_f": self.norm_f,
            "norm_u": self.norm_u,
            "method": self.method,
            "dofs": self.dofs,
            "linear": self.linear,
            "how": self.how,
            "seconds": round(self.seconds, 3),
            "preconditioned": None if self.preconditioned is None else self.preconditioned.to_dict(),
        }
        return {**result, "worst": self.worst.to_dict()} if direction else result
