"""`pcpinn settings`: every key, its default and its meaning, from the recipes themselves."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import PcpinnError
from ..recipes import Recipe, as_text, type_in_words
from ..solve.method import REGISTRIES


def settings(
    name: Annotated[
        str | None, typer.Argument(metavar="[RECIPE]", help="A slot (optimiser) or a recipe (gauss-newton).")
    ] = None,
) -> None:
    """List the recipes of each slot, or the keys of one of them: defaults and meanings."""
    console = Console()
    if name is None:
        console.print(_overview())
        console.print("the keys of one: pcpinn settings RECIPE; to change them: --set KEY=VALUE, --set SLOT=RECIPE")
        return
    for slot, recipe in _found(name):
        console.print(_keys(slot, recipe))


def _found(name: str) -> list[tuple[str, type[Recipe]]]:
    if name in REGISTRIES:
        return [(name, recipe) for recipe in REGISTRIES[name]]
    found = [(slot, recipe) for slot, registry in REGISTRIES.items() for recipe in registry if recipe.name == name]
    if not found:
        names = ", ".join(recipe.name for registry in REGISTRIES.values() for recipe in registry)
        raise PcpinnError(f"there is no slot or recipe {name!r}", f"slots: {', '.join(REGISTRIES)}; recipes: {names}")
    return found


def _overview() -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("slot", style="bold", no_wrap=True)
    table.add_column("recipe", no_wrap=True)
    table.add_column("what it is")
    for slot, registry in REGISTRIES.items():
        for k, recipe in enumerate(registry):
            table.add_row(slot if k == 0 else "", recipe.name, escape(recipe.summary()))
    return table


def _keys(slot: str, recipe: type[Recipe]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=f"{slot}={recipe.name}", title_justify="left", caption_justify="left")
    table.caption = escape(recipe.summary())
    table.add_column("key", style="bold", no_wrap=True)
    table.add_column("default", overflow="fold")
    table.add_column("values", style="dim", overflow="fold")
    table.add_column("meaning")
    for key in recipe.schema().values():
        default = as_text(key.default) if key.default is not None else "-"
        table.add_row(key.name, escape(default), escape(type_in_words(key.type)), escape(key.meaning))
    if not recipe.schema():
        table.add_row("-", "", "", "no keys")
    return table
