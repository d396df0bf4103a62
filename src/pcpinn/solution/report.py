"""A page about one run: how good the answer is, what it is an answer to, picture, errors, how to make it again.

Self-contained; opens without a network.
"""

from __future__ import annotations

import base64
import html
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..files import write_atomically
from .card import listed, plus_minus
from .cut import axis_names
from .markup import facts, figure, folded, page, text
from .solution import Solution

_USUAL = ("pcpinn", "infer")  # methods that need not be named
_OWN = """
.verdict{border-left:.4rem solid var(--soft);background:var(--card);border-radius:.3rem;padding:.6rem .9rem;margin:.8rem 0}
.verdict.good{border-color:#2f9e63}.verdict.bad{border-color:#d64545}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10rem,1fr));gap:.6rem;margin:.8rem 0}
.tile{border:1px solid var(--line);border-radius:.6rem;background:var(--card);padding:.5rem .8rem}
.tile b{display:block;font-size:1.45rem;line-height:1.3;white-space:nowrap;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:.85rem}
td:first-child{white-space:nowrap}
td.note{text-align:left;white-space:normal;color:var(--soft);width:100%}
th:last-child{text-align:left}
@media (max-width:40rem){thead{display:none}tr{display:grid;grid-template-columns:1fr auto auto}
tr{border-bottom:1px solid var(--line)}td{border-bottom:0}td.note{grid-column:1/-1;padding-top:0}
tr:last-child{border-bottom:0}td.note:empty,td.paper:empty{display:none}td.paper::before{content:"paper "}
td:first-child{white-space:normal}}
"""

Row = tuple[str, Any, str]


def write_report(solution: Solution, folder: Path) -> Path:
    """Write report.html beside the run's other files."""
    result = solution.result
    title = str(result["problem"])
    about = result.get("about") or {}
    parts = [
        f"<h1>{text(about.get('title') or title)}</h1>",
        f'<p class="soft">{text(_line(result))}</p>',
        _verdict(solution),
        _tiles(result),
        _asked(solution, about),
        _picture(folder),
        _section("What was found", _found(result)) if "inverse" in result else "",
        _section("Errors", _errors(result), result.get("paper_l2re")),
        _section("Work", _work(result)),
        f"<h2>How to make it again</h2><pre>{html.escape(command_of(result))}</pre>",
        folded("All settings", f"<pre>{html.escape(_settings(solution))}</pre>"),
        f'<p class="soft">{text(_machine(result))}</p>',
    ]
    path = folder / "report.html"
    write_atomically(path, page(title, f"<style>{_OWN}</style>" + "".join(parts)))
    return path


def _line(result: Mapping[str, Any]) -> str:
    how = "" if result.get("preset") in (None, "accuracy") else f"preset {result['preset']}"
    return " \u00b7 ".join(filter(None, [str(result["problem"]), str(result["method"]), how, f"seed {result['seed']}"]))


def _verdict(solution: Solution) -> str:
    verdict, inverse = solution.verdict, solution.result.get("inverse") or {}
    if inverse.get("converged") is False:
        return _banner("bad", solution.result.message)
    if verdict.asked is None:
        return _banner("", solution.result.message)
    return _banner("good" if verdict.reached else "bad", verdict.message)


def _banner(kind: str, words: str) -> str:
    return f'<p class="verdict {kind}">{text(words)}</p>'


def _tiles(result: Mapping[str, Any]) -> str:
    errors, reference = result["errors"], result["reference"]
    tiles = []
    if errors.get("estimate") is not None:
        tiles.append((f"{errors['estimate']:.1e}", "estimated relative L2 error"))
    if reference is not None and errors.get("l2re") is not None:
        tiles.append((f"{errors['l2re']:.1e}", f"relative L2 error against the {_kind(result)}"))
    deviations = (result.get("inverse") or {}).get("std") or {}
    for name, values in ((result.get("inverse") or {}).get("values") or {}).items():
        several, std = listed(values), listed(deviations.get(name))
        for k, value in enumerate(several):
            label = name if len(several) == 1 else f"{name}[{k}]"
            tiles.append((plus_minus(value, std[k] if std else None), label))
    tiles.append((f"{result['time']['total_s']:.1f} s", "in all"))
    return '<div class="tiles">' + "".join(_tile(*tile) for tile in tiles) + "</div>"


def _tile(value: str, label: str) -> str:
    return f'<div class="tile"><b>{text(value)}</b><span>{text(label)}</span></div>'


def _kind(result: Mapping[str, Any]) -> str:
    if "inverse" in result:
        return "truth"
    return {"exact": "exact solution", "certified": "certified reference"}.get(result["reference"]["kind"], "reference")


def _asked(solution: Solution, about: Mapping[str, str]) -> str:
    """Equation and domain: in words where the problem has them, else what the mesh knows."""
    mesh, axes = solution.mesh, axis_names(solution.mesh)
    lower, upper = mesh.bounds
    box = ", ".join(f"{a} from {l:.4g} to {u:.4g}" for a, l, u in zip(axes, lower, upper, strict=True))
    edges = ", ".join(mesh.space.boundary_names if hasattr(mesh, "space") else mesh.boundary_names)
    named = [
        ("equation", about.get("equation", "")),
        ("domain", about.get("domain") or box),
        ("conditions", about.get("conditions") or (f"on {edges}" if edges else "")),
        ("fields", ", ".join(solution.names)),
    ]
    return facts(named)


def _picture(folder: Path) -> str:
    drawn = folder / "solution.png"
    if not drawn.exists():
        return ""
    address = f"data:image/png;base64,{base64.b64encode(drawn.read_bytes()).decode()}"
    return figure(address, "picture of the solution", "The solution, and where there is a reference, its error.")


def _section(heading: str, rows: Sequence[Row], paper: float | None = None) -> str:
    """A table of names, values and what they mean; `paper` has a column of its own, for the first row."""
    if not rows:
        return ""
    head = ["", "value", *(["paper"] if paper is not None else []), "what it is"]
    lines = []
    for k, (name, value, note) in enumerate(rows):
        beside = f"{paper:.2e}" if paper is not None and k == 0 else ""
        cells = f"<td>{text(name)}</td><td>{text(_cell(value))}</td>"
        cells += "" if paper is None else f'<td class="paper">{beside}</td>'
        lines.append(f'<tr>{cells}<td class="note">{text(note)}</td></tr>')
    top = "".join(f'<th scope="col">{text(h)}</th>' for h in head)
    body = "".join(lines)
    return (
        f'<h2>{text(heading)}</h2><div class="box" tabindex="0"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _errors(result: Mapping[str, Any]) -> list[Row]:
    """Distances between network, discrete solution and reference. They may cancel, so none is called a part of another."""
    errors, reference = result["errors"], result["reference"]
    rows: list[Row] = []
    inverse = "inverse" in result
    if reference is not None:
        against = (
            f"against the {_kind(result)} ({reference['note']})"
            if reference["note"]
            else f"against the {_kind(result)}"
        )
        rows.append(("relative L2 error", errors["l2re"], against))
        if inverse:
            rows += [(f"of {name}", one["l2re"], "apart") for name, one in errors["field"].items()]
        else:
            rows += [
                (
                    "network to discrete solution",
                    errors["training"],
                    "what more training, or a larger network, could gain",
                ),
                ("discrete solution to reference", errors["discretisation"], "what a finer mesh could gain"),
                ("reference's own error", reference["error"], "below this nothing can be told apart"),
            ]
        rows += [("relative L1 error", errors["l1re"], ""), ("largest error", errors["max"], "")]
    else:
        rows.append(
            ("network to discrete solution", errors["training"], "there is no reference; of a good P also the residual")
        )
    if errors.get("estimate") is not None:
        how = (result.get("certificate") or {}).get("how", "finer discretisations")
        rows.append(("estimated error", errors["estimate"], f"without reference: {how}"))
    published = result.get("published")
    if published is not None:
        beside = f"{Path(published['file']).name}, itself {published['distance']:.1e} from an accurate solution"
        rows.append(("against published data", published["l2re"], beside))
    return rows


def _found(result: Mapping[str, Any]) -> list[Row]:
    """Estimates with deviations, and whether they can be relied on."""
    given = result["inverse"]
    deviations, errors = given.get("std") or {}, result["errors"].get("field") or {}
    rows: list[Row] = []
    for name, values in given["values"].items():
        note = f"relative error {errors[name]['l2re']:.1e} against the truth" if name in errors else ""
        rows.append((name, plus_minus(values, deviations.get(name)), note))
    for name in given.get("coefficients") or []:
        where = (given.get("boundaries") or {}).get(name)
        note = "a function, in the picture" + (f", on {', '.join(where)}" if where else "")
        rows.append((name, f"error {errors[name]['l2re']:.1e}" if name in errors else "function", note))
    if given.get("expected_l2re") is not None:
        rows.append(
            ("error expected", given["expected_l2re"], "root mean square over the posterior: what the noise leaves")
        )
    if given.get("converged") is not None:
        word = "yes" if given["converged"] else "NO"
        rows.append(
            (
                "networks at the discrete answer",
                word,
                f"loss {given['excess']:.1f} above its own, -25 to 5 counts; how far off it may be, deviations say",
            )
        )
    if given.get("noise_raised"):
        rows.append(("NOISE RAISED", f"{given['noise_raised']:.2g} times", "the data do not fit the noise given"))
    noise = ", ".join(f"{n:.3g}" for n in given["noise"])
    estimated = " (estimated)" if given["noise_estimated"] else ""
    rows.append(("misfit", ", ".join(f"{m:.3f}" for m in given["misfit"]), f"in units of the noise {noise}{estimated}"))
    rows.append(("data", given["data"], ""))
    if given.get("effective") is not None:
        rows.append(("determined by the data", f"{given['effective']:.1f}", "degrees of freedom"))
    return rows


def _work(result: Mapping[str, Any]) -> list[Row]:
    times, marched, newton = result["time"], result.get("march"), result.get("newton")
    rows: list[Row] = [
        ("time", f"{times['total_s']:.1f} s", f"set-up {times['setup_s']:.1f} s, training {times['train_s']:.1f} s"),
        ("iterations", result["iterations"], f"{result['optimiser']}, stopped by {result['stopped_by']}"),
        ("degrees of freedom", result["dofs"], f"{result['parameters']} weights in the network"),
        ("preconditioner", result["preconditioner"]["name"], ""),
    ]
    if newton is not None:
        sizes = ", ".join("-" if c is None else f"{c:.1e}" for c in newton["corrections"])
        rows.append(("Newton steps", newton["iterations"], f"corrections after each: {sizes}"))
    if marched is not None:
        each = f"{marched['scheme']}, {marched['newton_iterations']} Newton steps"
        rows.append(("windows", marched["windows"], f"{each}, residual at most {marched['largest_residual']:.1e}"))
    if result.get("network_kind"):
        rows.append(("kind", result["network_kind"], "what the answer is made of"))
    return rows


def _settings(solution: Solution) -> str:
    return "\n".join(f"{k} = {v}" for k, v in solution.settings.items())


def _machine(result: Mapping[str, Any]) -> str:
    return ", ".join(f"{k} {v}" for k, v in result["environment"].items() if v is not None)


def _cell(value: Any) -> str:
    return f"{value:.2e}" if isinstance(value, float) else "-" if value is None else str(value)


def command_of(result: Mapping[str, Any]) -> str:
    """The command line that repeats the run, with everything that differs from its preset."""
    source, given = result.get("source") or {}, dict(result.get("set") or {})
    if not source:
        return "pcpinn.solve(problem, **settings) with the settings below"
    words = ["pcpinn", "infer" if "inverse" in result else "solve", source["name"]]
    if result["preset"] == "accuracy":
        asked = given.pop("accuracy", None) or (result.get("verdict") or {}).get("asked")
        words += [] if asked is None else ["--accuracy", asked]
    else:
        words += ["--preset", result["preset"]]
    if result["method"] not in _USUAL:
        words += ["--method", result["method"]]
    words += ["--seed", str(result["seed"])]
    if "data_file" in result:
        words += ["--data", result["data_file"]["name"]]
    if "published_file" in result:
        words += ["--reference", str(Path(result["published_file"]).parent)]
    for key, value in given.items():
        words += [] if key == "seed" else ["--set", f"{key}={value}"]
    return shlex.join(map(str, words))
