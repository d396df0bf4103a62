"""Figures 1b and 2, and the statements that can be checked by numbers: what a study finds beside what the paper says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..study import Data, find_study
from .choice import Choice
from .compare import NOT_RUN, Comparison, Line, of_claim
from .found import Found
from .item import ITEMS, Item
from .part import Part, Studied

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADER = ("study", "ours", "paper")
STRONG = 0.8  # a correlation from which on we call it strong
CLOSELY = 0.02  # relative deviation up to which an estimate is close
FAR_BELOW = 10.0  # times: the end of one path far below that of another

Judged = Callable[[Data], tuple[str, str, bool | None, str]]  # ours, paper, whether it holds, why not


def parts(studies: tuple[str, ...], choice: Choice) -> tuple[Part, ...]:
    """One execution of each; networks that are to be averaged are trained within it."""
    wanted = choice.of_problems(studies) if len(studies) > 1 else studies
    return tuple(
        Studied(name, find_study(name).problem, choice.full, _sizes(name, choice), choice.seed) for name in wanted
    )


def _sizes(name: str, choice: Choice) -> tuple[tuple[str, str], ...]:
    """The user's changes, and as many trials as asked for where the study has any."""
    has_trials = choice.seeds is not None and "trials" in find_study(name).full
    return (*((("trials", str(choice.seeds)),) if has_trials else ()), *choice.changes)


def smaller(data: Data) -> str:
    """What of a study's sizes is not the paper's."""
    full = find_study(data["study"]).full
    given = {k: v for k, v in data["sizes"].items() if k in full and v != _plain(full[k])}
    return (
        "not the paper's size: " + ", ".join(f"{k}={_text(v)} ({_text(full[k])})" for k, v in given.items())
        if given
        else ""
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    return ",".join(f"{v:g}" for v in value) if isinstance(value, list | tuple) else str(value)


def compare(judged: Judged, found: Found) -> Comparison:
    """One line per study."""
    lines, notes, reduced = [], [], False
    for part in (p for p in found.parts if isinstance(p, Studied)):
        data = found.studied(part)
        if data is None:
            lines.append(Line((part.study, "-", "-"), NOT_RUN))
            continue
        ours, paper, holds, why = judged(data)
        verdict = of_claim(holds)
        lines.append(Line((part.study, ours, paper), verdict, "" if holds else why))
        notes += [f"{part.study}: {sentence}" for sentence in find_study(part.study).words(data)]
        if smaller(data):
            reduced = True
            notes.append(f"{part.study}: {smaller(data)}")
    return Comparison(HEADER, tuple(lines), tuple(notes), found.done, found.planned, reduced)


def draw(found: Found) -> Figure | None:
    """The figure of the first study that is there."""
    for part in (p for p in found.parts if isinstance(p, Studied)):
        data = found.studied(part)
        if data is not None:
            return find_study(part.study).draw(data)
    return None


def landscape(data: Data) -> tuple[str, str, bool | None, str]:
    """Where both paths end."""
    ends = {row["method"]: row["l2re"] for row in data["rows"]}  # the last of each
    ours = f"PINN ends at {ends['pinn']:.2g}, PCPINN at {ends['pcpinn']:.2g}"
    holds = ends["pcpinn"] * FAR_BELOW < ends["pinn"]
    return ours, "PINN stays in the zone of high errors, PCPINN dives", holds, "PCPINN ends less than ten times lower"


def norms(data: Data) -> tuple[str, str, bool | None, str]:
    """Deviations of all estimates from theory, coarse meshes apart."""
    off = data["summary"]["deviations"]
    ours = "largest deviation " + ", ".join(f"{name} {100 * d:.2g} %" for name, d in off.items())
    return ours, "4 / P^2; estimates close to it", max(off.values()) <= CLOSELY, "an estimate is more than 2 % off"


def correlation(data: Data) -> tuple[str, str, bool | None, str]:
    """The coefficient of the linear fit."""
    s = data["summary"]
    known = [a["r"] for a in data["along"] if a["r"] is not None]
    ours = f"r = {s['r']:.3f}" if s["r"] is not None else "r undefined"
    ours += f"; along training {min(known):.2f} to {max(known):.2f}" if known else ""
    ours += f"; {s['failed']} of {len(data['rows'])} not solved"
    why = f"not strong at the end, at most {max(known):.2f} on the way" if known else "undefined all along"
    why += (
        "" if s["failed"] else "; all are solved, and what is left of their errors does not follow the condition number"
    )
    return ours, "strong linear correlation", s["r"] is not None and s["r"] >= STRONG, why


def order_of_convergence(data: Data) -> tuple[str, str, bool | None, str]:
    """Whether larger condition numbers go with larger errors, in the end."""
    rank = data["summary"]["rank"]
    return (
        f"rank correlation {rank:.3f}",
        "larger condition numbers converge more slowly",
        rank >= STRONG,
        "no such order",
    )


def bound(data: Data) -> tuple[str, str, bool | None, str]:
    """Whether the inequality holds everywhere."""
    s = data["summary"]
    ours = "the bound holds at every recorded point" if s["bound_holds"] else "the bound is violated"
    return ours, "the bound holds", bool(s["bound_holds"]), "violated at some point"


def amplification(data: Data) -> tuple[str, str, bool | None, str]:
    """How much larger errors are than the residuals they come with, by condition number."""
    hard, easy = _hard_and_easy(data)
    ratios = [row["error"] / row["residual"] for row in (hard, easy)]
    ours = ", ".join(
        f"error / residual {r:.2g} at condition number {row['condition']:.3g}"
        for r, row in zip(ratios, (hard, easy), strict=True)
    )
    paper = "a small residual may come with a large error where the condition number is large"
    return ours, paper, ratios[0] > FAR_BELOW * ratios[1], "the residual says as much of the error either way"


def reformulated(data: Data) -> tuple[str, str, bool | None, str]:
    """What P changes of the condition number."""
    hard, easy = _hard_and_easy(data)
    ours = f"{hard['condition']:.3g} without P or with the worst, {easy['condition']:.3g} with the best"
    return (
        ours,
        "only another formulation changes K",
        easy["condition"] * FAR_BELOW < hard["condition"],
        "P hardly helps",
    )


def improved(data: Data) -> tuple[str, str, bool | None, str]:
    """Errors at the largest and the smallest condition number."""
    hard, easy = _hard_and_easy(data)
    ours = ", ".join(f"error {row['error']:.2g} at condition number {row['condition']:.3g}" for row in (hard, easy))
    return ours, "a better condition number, a smaller error", easy["error"] < hard["error"], "no smaller"


def _hard_and_easy(data: Data) -> tuple[dict[str, Any], dict[str, Any]]:
    rows = sorted(data["rows"], key=lambda row: row["condition"])
    return rows[-1], rows[0]


def mean_eigenvalue(data: Data) -> tuple[str, str, bool | None, str]:
    """The rate by the trace of the kernel beside that by its eigenvalues."""
    off = max(abs(row["largest"] * row["balance"] / row["rate"] - 1) for row in data["rows"] if row["rate"])
    return f"apart by at most {off:.1e}", "tr K / N is the mean eigenvalue", off < 1e-6, "they are apart"


def accelerated(data: Data) -> tuple[str, str, bool | None, str]:
    """The kernel's rate at the start, with and without P."""
    first = {row["loss"]: row["rate"] for row in reversed(data["rows"])}
    without, best = first.pop("none"), max(first.values())
    ours = f"rate {best:.2g} with P, {without:.2g} without"
    return (
        ours,
        "a small condition number greatly accelerates",
        best > FAR_BELOW * without,
        "only the bound grows with P",
    )


def _item(name: str, order: int, title: str, statement: str, studies: tuple[str, ...], judged: Judged) -> Item:
    item = Item(name, title, statement, partial(parts, studies), partial(compare, judged), draw, order)
    return ITEMS.register(item)


_item(
    "figure-1b", 1012, "Error landscapes of PINN and PCPINN, 1D wave",
    "the PINN wanders among high errors; the preconditioned one dives deep and converges.", ("landscape",), landscape,
)  # fmt: skip
_item(
    "figure-2a", 1021, "Estimates of the norm of the inverse, 1D Poisson",
    "finite differences and a trained network come close to the theory, 4 / P^2.", ("poisson1d",), norms,
)  # fmt: skip
_item(
    "figure-2b", 1022, "L2RE against the normalised condition number: wave, Helmholtz, Burgers",
    "a strong linear correlation, normalised by log (wave, Burgers) and square root (Helmholtz); means of 5 trials.",
    ("wave", "helmholtz", "burgers"), correlation,
)  # fmt: skip
_item(
    "figure-2c", 1023, "Convergence of a PINN on waves of different condition number",
    "the larger the condition number, the slower the convergence.", ("wave",), order_of_convergence,
)  # fmt: skip
_item(
    "theorem-3.5", 2035, "Norm of the inverse of the 1D Poisson problem",
    "||F^-1|| = 4 / P^2.", ("poisson1d",), norms,
)  # fmt: skip
_item(
    "corollary-3.6", 2036, "Error control: the loss bounds the error",
    "the relative error is at most (cond + alpha) times the relative residual.", ("error-control",), bound,
)  # fmt: skip
_item(
    "theorem-3.9", 2039, "Convergence rate: a bound of the tangent kernel's trace",
    "the average rate c is at least a multiple of 1 / cond^2.", ("ntk",), bound,
)  # fmt: skip
_item(
    "remark-3.2", 2032, "What the condition number stands for",
    "the worst relative error of u by that of the residual: an ill-conditioned problem may be wrong at a small loss.",
    ("error-control",), amplification,
)  # fmt: skip
_item(
    "remark-3.4", 2034, "What changes the condition number", "the problem's formulation, and nothing in the training.",
    ("error-control",), reformulated,
)  # fmt: skip
_item(
    "remark-3.7", 2037, "What a better condition number does for the error", "it is what ensures accuracy.",
    ("error-control",), improved,
)  # fmt: skip
_item(
    "definition-3.8", 2038, "The average rate of convergence", "the mean eigenvalue of the tangent kernel.",
    ("ntk",), mean_eigenvalue,
)  # fmt: skip
_item(
    "remark-3.10", 2040, "What a better condition number does for the rate", "it greatly accelerates the convergence.",
    ("ntk",), accelerated,
)  # fmt: skip
