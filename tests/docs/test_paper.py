"""docs/paper.md names every numbered item of the paper, every ID, and the status that its data have."""

import re
from pathlib import Path

import pytest

from pcpinn.reproduce import ITEMS
from pcpinn.reproduce.compare import NOT_RUN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text()
TABLES = [f"Table {n}" for n in range(1, 15)]
FIGURES = [f"Figure {n}" for n in ("1a", "1b", "2a", "2b", "2c", "3a", "3b", "3c", "4a", "4b", "4c")]
ALGORITHMS = [f"Algorithm {n}" for n in range(1, 5)]
STATEMENTS = [f"3.{n}" for n in range(1, 11)] + [f"A.{n}" for n in range(1, 12)] + ["B.1"]


def rows():
    """Cells of all rows of all tables."""
    return [[c.strip() for c in line[1:-1].split("|")] for line in PAGE.splitlines() if line.startswith("| ")]


def with_id():
    """ID -> cells."""
    found = {}
    for cells in rows():
        name = re.fullmatch(r"`([a-z]+-(?:[ab][.])?[0-9.]+[a-c]?)`", cells[1]) if len(cells) > 2 else None
        if name:
            assert name[1] not in found, f"{name[1]} is listed twice"
            found[name[1]] = cells
    return found


def test_ids_are_those_of_the_program():
    assert list(with_id()) == list(ITEMS.names())


@pytest.mark.parametrize("name", TABLES + FIGURES + ALGORITHMS)
def test_every_table_figure_and_algorithm_has_a_row(name):
    assert sum(re.match(rf"{name}\b", cells[0]) is not None for cells in rows()) == 1


@pytest.mark.parametrize("number", STATEMENTS)
def test_every_numbered_statement_has_a_row(number):
    wanted = re.compile(rf"(?<![\d.]){re.escape(number)}(?!\d)")
    assert (
        sum(wanted.search(cells[0]) is not None for cells in rows() if not cells[0].startswith(("Table", "Figure")))
        == 1
    )


def test_an_item_stands_in_the_row_of_its_number():
    for name, cells in with_id().items():
        kind, _, number = name.partition("-")
        assert cells[0].startswith(f"{kind.capitalize()} {number if number[0].isdigit() else number.upper()}")


def test_this_page_and_that_of_baselines_are_what_the_rows_say(script):
    assert not script("paper_pages").update(check=True), "python benchmarks/paper_pages.py writes them"


def test_what_is_not_run_says_how_long_it_would_take():
    for name, cells in with_id().items():
        if cells[2] == NOT_RUN:
            assert re.search(r"about \d+ (s|min|h)|of the same runs", cells[3]), name
