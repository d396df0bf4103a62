"""The example of docs/families.md runs as it is printed, and keeps its word."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "families.md"


def test_the_example():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names: dict = {}
    exec(compile(code, str(PAGE), "exec"), names)
    surrogate, better = names["surrogate"], names["better"]
    assert surrogate.verdict.reached
    assert better.verdict.reached
    assert names["error"].total < 3e-2
    assert np.allclose(names["values"], better(names["x"]), rtol=0.1)
    assert np.allclose(names["values"], names["solution"](names["x"]))
