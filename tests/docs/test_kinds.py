"""What pages say about the kind of each answer is what presets make."""

from pathlib import Path

import pytest

from pcpinn.catalog import CATALOG
from pcpinn.solve.kind import KINDS, kind_of

ROOT = Path(__file__).parents[2]
# heading of a table (its start) by page, and the presets that its rows are of
TABLES = {
    ("README.md", "| problem | paper | `quick`, CPU |"): ("quick", "default"),
    ("README.md", "| problem | paper | `default` |"): ("default",),
    ("docs/benchmarks/linear.md", "| problem | paper | best other in the paper |"): ("default",),
    ("docs/benchmarks/linear.md", "| problem | paper | ours |"): ("paper",),
    ("docs/benchmarks/linear.md", "| problem | paper | L2RE | training |"): ("quick",),
    ("docs/benchmarks/nonlinear.md", "| problem | paper | L2RE | target |"): ("default",),
    ("docs/benchmarks/nonlinear.md", "| problem | paper | L2RE | time |"): ("quick",),
}


def rows(page, heading):
    """Problem and kind of each row of the table that begins so."""
    text = (ROOT / page).read_text()
    lines = text[text.index(heading) :].split("\n\n")[0].splitlines()
    assert lines[0].rstrip(" |").endswith("kind")
    return [[c.strip() for c in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(("page", "heading"), TABLES)
def test_kinds_are_those_of_the_presets(page, heading):
    found = rows(page, heading)
    assert len(found) >= 4
    for cells in found:
        for preset in TABLES[page, heading]:
            _, settings = CATALOG.find(cells[0]).resolve(preset, {})
            kind, _, given = cells[-1].partition(" (")
            assert kind == kind_of(settings), cells[0]
            assert kind in KINDS
            assert (given == "f)") == (settings.network.features == "list"), cells[0]
