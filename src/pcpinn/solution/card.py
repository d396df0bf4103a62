"""A solution at a glance, as notebooks show it: picture, verdict, errors."""

from __future__ import annotations

import base64
import html
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import PcpinnError

if TYPE_CHECKING:
    from .picture import Figure


def need_pictures() -> ModuleType:
    """The module that draws, imported late: machines that only train go without matplotlib.

    Raises:
        PcpinnError: where it is not installed.
    """
    try:
        from . import picture
    except ModuleNotFoundError as error:
        raise PcpinnError(f"pictures need {error.name}", f"pip install {error.name}") from error
    return picture


def card(solution: Any) -> str:
    """HTML of a `Solution` of any kind; a picture that cannot be drawn is left out, with the reason."""

    def draw_into(figure: Figure) -> None:
        solution.draw_into(figure)

    try:
        data = base64.b64encode(need_pictures().png_of(draw_into)).decode()
        image = f'<img alt="picture of the solution" style="max-width:100%" src="data:image/png;base64,{data}">'
    except PcpinnError as error:
        image = f"<p><em>{html.escape(error.problem)}</em></p>"
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in _facts(solution))
    return f"<div><strong>{html.escape(repr(solution)[1:-1])}</strong><br>{image}<ul>{lines}</ul></div>"


def _facts(solution: Any) -> list[str]:
    """Verdict, errors by part, time."""
    errors, result = solution.errors, solution.result
    lines = [solution.verdict.message] if solution.verdict.asked is not None else []
    named = {
        "l2re": "relative L2 error against the reference",
        "estimate": "estimated relative L2 error",
        "training": "network against the discrete solution",
        "discretisation": "discrete solution against the reference",
    }
    lines += [f"{words}: {errors[key]:.1e}" for key, words in named.items() if errors.get(key) is not None]
    facts = result.get("inverse") or {}
    for name, value in (facts.get("values") or {}).items():
        lines.append(f"{name} = {plus_minus(value, (facts.get('std') or {}).get(name))}")
    if "time" in result:
        lines.append(f"{result['time']['total_s']:.1f} s, {result.get('dofs')} degrees of freedom")
    return lines


def listed(value: Any) -> list[Any]:
    """A number, several or none, as a list."""
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def plus_minus(value: Any, deviation: Any = None) -> str:
    """Numbers with their standard deviations, two digits of these: 1.234 +- 0.012."""
    values = listed(value)
    deviations = listed(deviation) or [None] * len(values)
    parts = []
    for v, d in zip(values, deviations, strict=True):
        if d is None or not d > 0:
            parts.append(f"{v:.5g}")
            continue
        size = f"{d:.1e}"
        digits = max(0, 1 - int(size.partition("e")[2]))
        parts.append(f"{v:.{digits}f} \u00b1 {d:.{digits}f}" if digits <= 6 else f"{v:.6g} \u00b1 {size}")
    return ", ".join(parts)
