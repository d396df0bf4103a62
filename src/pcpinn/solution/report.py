"""A page about one run: picture, errors by part, how to make it again. Self-contained; opens without a network."""

from __future__ import annotations

import base64
import html
import shlex
from pathlib import Path
from typing import Any

from ..files import write_atomically
from .solution import Solution

_USUAL = ("pcpinn", "infer")  # methods that need not be named
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "img{max-width:100%}table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #ddd}"
    "td:nth-child(2){text-align:right;font-variant-numeric:tabular-nums}pre{background:#f5f5f5;padding:.6rem;overflow:auto}"
)


def write_report(solution: Solution, folder: Path) -> Path:
    """Write report.html beside the run's other files."""
    result = solution.result
    errors, times, reference = result["errors"], result["time"], result["reference"]
    rows: list[tuple[str, Any, str]] = []
    if reference is not None:
        rows += [
            ("L2 relative error", errors["l2re"], f"against the {reference['kind']} reference ({reference['note']})"),
            ("of which training", errors["training"], "network against the discrete solution"),
            ("of which discretisation", errors["discretisation"], "discrete solution against the reference"),
            ("of which reference", reference["error"], "the reference's own error"),
            ("L1 relative error", errors["l1re"], ""),
            ("largest error", errors["max"], ""),
        ]
    else:
        rows.append(
            ("training error", errors["training"], "network against the discrete solution; there is no reference")
        )
    published = result.get("published")
    if published is not None:
        beside = f"{Path(published['file']).name}, itself {published['distance']:.1e} from an accurate solution"
        rows.append(("L2 relative error, published data", published["l2re"], beside))
    rows += [
        ("time", f"{times['total_s']:.1f} s", f"setup {times['setup_s']:.1f} s, training {times['train_s']:.1f} s"),
        ("iterations", result["iterations"], f"{result['optimiser']}, stopped by {result['stopped_by']}"),
        ("degrees of freedom", result["dofs"], f"{result['parameters']} weights in the network"),
        ("preconditioner", result["preconditioner"]["name"], ""),
    ]
    newton = result.get("newton")
    if newton is not None:
        sizes = ", ".join("-" if c is None else f"{c:.1e}" for c in newton["corrections"])
        rows.append(("Newton steps", newton["iterations"], f"corrections after each: {sizes}"))
    marched = result.get("march")
    if marched is not None:
        each = f"{marched['scheme']}, {marched['newton_iterations']} Newton steps"
        rows.append(("windows", marched["windows"], f"{each}, residual at most {marched['largest_residual']:.1e}"))
    body = "".join(f"<tr><td>{_cell(a)}</td><td>{_cell(b)}</td><td>{_cell(c)}</td></tr>" for a, b, c in rows)
    drawn = folder / "solution.png"
    picture = base64.b64encode(drawn.read_bytes()).decode() if drawn.exists() else None
    image = f'<img alt="solution" src="data:image/png;base64,{picture}">' if picture else ""
    environment = ", ".join(f"{k} {v}" for k, v in result["environment"].items() if v is not None)
    settings = "\n".join(f"{k} = {v}" for k, v in solution.settings.items())
    title = html.escape(str(result["problem"]))
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style><h1>{title}</h1>"
        f"{image}<table>{body}</table>"
        f"<h2>How to make it again</h2><pre>{html.escape(_command(result))}</pre>"
        f"<details><summary>All settings</summary><pre>{html.escape(settings)}</pre></details>"
        f"<p>{html.escape(environment)}</p></html>\n"
    )
    path = folder / "report.html"
    write_atomically(path, page)
    return path


def _cell(value: Any) -> str:
    text = f"{value:.3e}" if isinstance(value, float) else "-" if value is None else str(value)
    return html.escape(text)


def _command(result: dict[str, Any]) -> str:
    """The command line that repeats the run, with everything that differs from its preset."""
    source = result.get("source") or {}
    if not source:
        return "pcpinn.solve(problem, **settings) with the settings below"
    words = ["pcpinn", "infer" if "inverse" in result else "solve", source["name"], "--preset", result["preset"]]
    if result["method"] not in _USUAL:
        words += ["--method", result["method"]]
    words += ["--seed", str(result["seed"])]
    if "data_file" in result:
        words += ["--data", result["data_file"]["name"]]
    if "published_file" in result:
        words += ["--reference", str(Path(result["published_file"]).parent)]
    for key, value in (result.get("set") or {}).items():
        words += [] if key == "seed" else ["--set", f"{key}={value}"]
    return shlex.join(map(str, words))
