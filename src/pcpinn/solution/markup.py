"""Pieces of HTML. Everything that comes from outside goes through `text`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

STYLE = """
:root{color-scheme:light dark;--ink:#1f2933;--soft:#5b6875;--line:#dfe4ea;--page:#fbfcfd;--card:#fff;--mark:#2563eb;
--good:#e8f1ff}
@media (prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#9aa7b5;--line:#323c48;--page:#12171d;--card:#1a2129;
--mark:#7aa7ff;--good:#1b2c4a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
overflow-wrap:break-word}
main{max-width:66rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.3rem;margin:2.6rem 0 .4rem}
h3{font-size:1rem;margin:1.4rem 0 .4rem;color:var(--soft)}
p{max-width:48rem}a{color:var(--mark)}.soft{color:var(--soft);font-size:.9rem}
nav{display:flex;flex-wrap:wrap;gap:.4rem;margin:1rem 0}
nav a{border:1px solid var(--line);border-radius:1rem;padding:.1rem .7rem;text-decoration:none;font-size:.9rem}
.box{overflow-x:auto;border:1px solid var(--line);border-radius:.6rem;background:var(--card);margin:.6rem 0}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.4rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:top}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--card);white-space:normal;min-width:9rem}
thead th{color:var(--soft);font-weight:600}tbody tr:last-child td{border-bottom:0}
tr.problem td{font-weight:700;padding-top:.9rem}tr.best td,tr.best td:first-child{background:var(--good)}
tr.paper td,tr.other td{color:var(--soft)}tr.other td{white-space:normal}
figure{margin:1rem 0;border:1px solid var(--line);border-radius:.6rem;background:#fff;padding:.6rem}
figure img{display:block;max-width:100%;height:auto;margin:auto}
.wide{overflow-x:auto}figcaption{color:#5b6875;font-size:.85rem;padding:.5rem .3rem 0}
pre{overflow-x:auto;background:var(--card);
border:1px solid var(--line);border-radius:.6rem;padding:.7rem;font-size:.82rem;margin:.5rem 0}
details{margin:.6rem 0}summary{cursor:pointer;color:var(--mark)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.5rem 0}dt{color:var(--soft)}dd{margin:0;min-width:0}
@media (max-width:40rem){main{padding:1rem .7rem 3rem}dl{gap:.1rem .7rem}figure img{max-width:none;width:max(100%,35rem)}
th,td{padding:.35rem .5rem}th:first-child,td:first-child{min-width:7rem}}
@media print{.box,pre{overflow:visible}pre{white-space:pre-wrap}section{break-inside:avoid}}
"""


def text(value: object) -> str:
    """Escaped."""
    return html.escape(str(value))


def page(title: str, body: str) -> str:
    """A whole document that needs nothing else, and asks for nothing else: its policy forbids it."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def table(header: Sequence[str], lines: Iterable[Sequence[str]], kinds: Mapping[int, str] | None = None) -> str:
    """A table in a box of its own that scrolls where it is too wide; `kinds` are the classes of some lines."""
    head = "".join(f'<th scope="col">{text(h)}</th>' for h in header)
    rows = []
    for i, line in enumerate(lines):
        kind = (kinds or {}).get(i, "")
        cells = "".join(f"<td>{text(c)}</td>" for c in line)
        rows.append(f'<tr class="{text(kind)}">{cells}</tr>' if kind else f"<tr>{cells}</tr>")
    body = "".join(rows)
    return f'<div class="box" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def figure(address: str, alternative: str, caption: str) -> str:
    """A picture with its caption."""
    return (
        f'<figure><div class="wide" tabindex="0"><img src="{text(address)}" alt="{text(alternative)}"></div>'
        f"<figcaption>{text(caption)}</figcaption></figure>"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what they are."""
    return "<dl>" + "".join(f"<dt>{text(k)}</dt><dd>{text(v)}</dd>" for k, v in pairs if v) + "</dl>"


def code(lines: Iterable[str]) -> str:
    """Lines to type."""
    return f'<pre tabindex="0">{text(chr(10).join(lines))}</pre>'


def folded(title: str, content: str) -> str:
    """Something to open."""
    return f"<details><summary>{text(title)}</summary>{content}</details>"


def anchor(name: str) -> str:
    """An address within the page."""
    return "p-" + "".join(c if c.isalnum() or c == "-" else "-" for c in name)
