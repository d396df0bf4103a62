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
    "poisson3d-cg": "the paper's error is 4.1e-2 to 4.2e-2 whatever P is (its Table 3), so not one of training",
    "poisson2d-ms": "the paper's error is not explained by its mesh, whose own is 1.1e-2",
    "heat2d-lt": "PINNacle's file is 3.5e-2 from the certified reference",
    "ns2d-cg": "PINNacle's file, 6.4e-2 from the certified reference, has an outlet that suppresses back-flow",
    "ns2d-lt": "PINNacle's data suppress back-flow at the outlet: they solve another problem",
    "wave2d-cg": "the paper's weak form has c under the divergence, which is another equation",
    "wave2d-ms": "PINNacle's code and the paper's formula solve different equations; this is the paper's",
}

# Where the methods here are not as in the code that the published figures come from: docs/baselines.md has the whole list.
METHODS = {
    "pinn-w": "100 for all conditions, where the published runs have weights of their own",
    "ntk": "traces of the kernel, each boundary apart; in PINNacle's code the squared gradient of a sum, two groups",
    "rar": "new points, where PINNacle's code counts one of its points twice",
    "gpinn": "gradients weigh 0.01, in PINNacle's code as much as the equations",
    "vpinn": "5 x 100 units and 20 000 steps, in PINNacle's code 3 x 20 to 30 and 10 000",
    "laaf": "slopes that begin at one, in PINNacle's code at random ones",
    "gaaf": "one slope that begins at one, in PINNacle's code one for each layer, at random ones",
    "fbpinn": "the same parts for all problems, in PINNacle's code chosen for each",
}
CELLS = {
    ("poisson3d-cg", "vpinn"): "PINNacle's code of this method adds the sines in f that the problem multiplies",
    ("wave1d-c", "multiadam"): "not explained (one seed)",
    ("heat2d-ms", "lra"): "not explained (one seed)",
}
# Of all methods on a problem.
SETTINGS = {
    "poisson3d-cg": "coordinates are scaled to [-1, 1], in PINNacle's code they are not",
    "heat2d-vc": "in PINNacle's code a stands before the Laplacian, and is another field",
    "poisson2d-ms": "in PINNacle's code a stands before the Laplacian, so that its jumps have no flux",
    "gs": "in PINNacle's code nothing is asked for on the sides",
    "ks": "in PINNacle's code nothing is asked for at the ends, and the equation is of fourth order",
    "wave2d-ms": "in PINNacle's code another equation",
}
UNKNOWN = "not explained (one seed)"


def unlike_published(problem: str, method: str) -> str:
    """What is known of a method whose error is not the published one."""
    if (problem, method) in CELLS:
        return CELLS[problem, method]
    return sentences(METHODS.get(method), SETTINGS.get(problem)) or UNKNOWN


def reason(group: Group, verdict: str) -> str:
    """Why a run's error is not the paper's: its own parts, and what is known of the figure it is compared with."""
    if verdict in (MATCH, NOT_RUN, NOTHING):
        return ""
    if group.cell.method != "pcpinn":
        return sentences(unlike_published(group.cell.problem, group.cell.method), PUBLISHED.get(group.cell.problem))
    training, mesh = (mean_of(getattr(r, c) for r in group.finished) for c in ("training", "discretisation"))
    parts = f"training {short(training.mean)}, mesh {short(mesh.mean)}" if training and mesh else ""
    own = "" if group.cell.preset in AS_PUBLISHED else f"preset {group.cell.preset}"
    return sentences(own, parts, PUBLISHED.get(group.cell.problem))
