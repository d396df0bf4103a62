"""Parts of pages that come from the code: recipes with their keys, and the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer

from pcpinn.cli.app import app as command_line
from pcpinn.recipes import Recipe, as_text, type_in_words
from pcpinn.solve.method import REGISTRIES


def cell(text: str) -> str:
    """Text inside a table, as it is."""
    for mark in "\\`*_[]<>|$":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def name_of(recipe: type[Recipe]) -> str:
    """How Python and the command line call it."""
    return f"`{recipe.name}`" if recipe.name == recipe.__name__ else f"`{recipe.name}` (`{recipe.__name__}`)"


def settings_pages() -> Iterator[str]:
    """Every slot, its recipes and their keys."""
    for slot, registry in REGISTRIES.items():
        yield f"## {slot}\n"
        for recipe in registry:
            yield f"### {slot}: {name_of(recipe)}\n\n{cell(recipe.summary())}\n"
            keys = recipe.schema().values()
            if keys:
                yield "| key | default | values | meaning |\n|---|---|---|---|"
            for key in keys:
                default = "-" if key.default is None else f"`{as_text(key.default) or '-'}`"
                yield f"| `{key.name}` | {default} | {cell(type_in_words(key.type))} | {cell(key.meaning)} |"
            yield ""


def commands_pages() -> Iterator[str]:
    """Every command with its arguments and options, as `pcpinn COMMAND --help` prints them."""
    yield from _command(typer.main.get_command(command_line), "pcpinn")


def _command(command, path: str) -> Iterator[str]:
    if path != "pcpinn":
        yield f"## {path}\n\n{cell((command.help or '').split(chr(12))[0])}\n"
        shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
        if shown:
            yield "| option | meaning |\n|---|---|"
        for p in shown:
            names = ", ".join(p.opts) if p.param_type_name == "option" else (p.metavar or p.name.upper())
            yield f"| `{names}` | {cell(p.help or '')} |"
        yield ""
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _command(inner, f"{path} {name}")


def result_pages() -> Iterator[str]:
    """The keys of result.json, from its schema."""
    schema = json.loads((Path(__file__).parents[1] / "reference" / "result.schema.json").read_text(encoding="utf-8"))
    yield "| key | type | meaning |\n|---|---|---|"
    yield from _keys(schema, "")


def _keys(schema: dict[str, Any], before: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, part in schema["properties"].items():
        kinds = [part["type"]] if isinstance(part["type"], str) else part["type"]
        text = part["description"] + ("" if name in required else " (not always)")
        yield f"| `{before}{name}` | {', '.join(kinds)} | {text.replace('|', chr(92) + '|')} |"
        if part.get("properties"):
            yield from _keys(part, f"{before}{name}.")


def above(name: str) -> Iterator[str]:
    """A page of the folder above, which GitHub shows there."""
    yield (Path(__file__).parents[2] / name).read_text(encoding="utf-8").replace("](docs/", "](")


MAKERS = {
    "settings": settings_pages,
    "commands": commands_pages,
    "result": result_pages,
    "contributing": partial(above, "CONTRIBUTING.md"),
    "changelog": partial(above, "CHANGELOG.md"),
}


def filled(text: str) -> str:
    """A page with `<!-- generated: settings -->` and its like replaced by what the code says."""
    for name, maker in MAKERS.items():
        mark = f"<!-- generated: {name} -->"
        if mark in text:
            text = text.replace(mark, "\n".join(maker()))
    return text
