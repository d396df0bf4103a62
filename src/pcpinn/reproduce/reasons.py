"""Why an error of ours is not the paper's: what is known of a problem's published figure, and what our own numbers say."""

from __future__ import annotations

from ..bench.table import mean_of, short
from .compare import MATCH, NOT_RUN, NOTHING, sentences
from .found import Group

AS_PUBLISHED = ("paper", "pinnacle")  # presets with the settings of the published figures
# Findings about the paper's own figures; docs/benchmarks has how they were made.
PUBLISHED = {
    "burgers1d-c": "the paper's error is the distance of PINNacle's file from the exact solution (1.3e-2)",
    "burgers2d-c": "PINNacle's data for it are not published",
    "poisson2d-ms": "the paper's error is not explained by its mesh, whose own is 1.1e-2",
    "heat2d-lt": "PINNacle's file is 3.5e-2 from the certified reference",
    "ns2d-cg": "PINNacle's file, 6.4e-2 from the certified reference, has an outlet that suppresses back-flow",
    "ns2d-lt": "PINNacle's data suppress back-flow at the outlet: they solve another problem",
    "wave2d-cg": "the paper's weak form has c under the divergence, which is another equation",
    "wave2d-ms": "PINNacle's code and the paper's formula solve different equations; this is the paper's",
}


def reason(group: Group, verdict: str) -> str:
    """Why a run's error is not the paper's: its own parts, and what is known of the figure it is compared with."""
    if verdict in (MATCH, NOT_RUN, NOTHING):
        return ""
    training, mesh = (mean_of(getattr(r, c) for r in group.finished) for c in ("training", "discretisation"))
    parts = f"training {short(training.mean)}, mesh {short(mesh.mean)}" if training and mesh else ""
    own = "" if group.cell.preset in AS_PUBLISHED else f"preset {group.cell.preset}"
    return sentences(own, parts, PUBLISHED.get(group.cell.problem))
