"""The example of docs/quantities.md runs as it is printed, and gives what the page says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "quantities.md"


def test_drag_and_lift():
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), names)
    drag, lift = names["drag"], names["lift"]
    assert 5.57953523 in drag
    assert 0.0106189 in lift
    assert float(drag) == pytest.approx(5.57953523, rel=1e-4)
    assert drag.error < 0.02
    solution = names["solution"]
    assert 0.11752017 in solution.value([0.15, 0.2], "p") - solution.value([0.25, 0.2], "p")
