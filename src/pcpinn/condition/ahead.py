"""The doctor looks ahead: all findings that need no solution, only the problem's functions, its domain and the first mesh."""

from __future__ import annotations

import numpy as np

from ..problem.problem import Problem
from .corners import corner_findings, curvature_findings
from .findings import Finding
from .interfaces import interface_findings
from .nonlinearity import nonlinearity_findings
from .regimes import regime_findings
from .signs import sign_findings
from .start import start_findings
from .start_flux import flux_findings
from .view import view_of


def look_ahead(problem: Problem, states: np.ndarray | None = None, inverse_norm: float | None = None) -> list[Finding]:
    """Findings about a problem that is not refused.

    Args:
        problem: the PDE.
        states: (m, d + C (1 + d)) points with values and gradients of a solution; without them the size of the data is taken.
        inverse_norm: ||F^-1||, if it has been measured.
    """
    view = view_of(problem, states)
    return [
        *sign_findings(view),
        *regime_findings(view, inverse_norm),
        *corner_findings(view),
        *curvature_findings(view),
        *interface_findings(view),
        *start_findings(view),
        *flux_findings(view),
        *nonlinearity_findings(view),
    ]
