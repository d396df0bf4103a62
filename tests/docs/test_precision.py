"""The example of docs/precision.md runs as it is printed; the figures of its table are those of the raw rows."""

import csv
import re
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "precision.md"


def test_the_example():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names: dict = {}
    exec(compile(code, str(PAGE), "exec"), names)
    solution = names["solution"]
    x = np.random.default_rng(0).uniform(size=(100, 2))
    np.testing.assert_allclose(np.asarray(solution(x)), np.sin(2 * x[:, 0]) * np.exp(-x[:, 1]), atol=1e-11)
    assert solution.errors["estimate"] < 5e-12


def test_the_table_is_that_of_the_raw_rows():
    with (DOCS / "benchmarks" / "precision.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    page = PAGE.read_text()
    for row in rows:
        line = next(n for n in page.splitlines() if n.startswith(f"| {row['problem']} | {row['method']} |"))
        assert f"| {float(row['l2re']):.1e} |" in line
