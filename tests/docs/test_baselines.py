"""The page on baselines: its table names every method, its plug-in works as printed."""

import re
from pathlib import Path

import numpy as np

from pcpinn.catalog.task import catalog_task
from pcpinn.solve.method import LOSSES, METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")


def test_every_method_is_in_the_table():
    listed = set(re.findall(r"^\| `([a-z][a-z-]+)` \|", PAGE, flags=re.MULTILINE))
    own = {m.name for m in METHODS if getattr(m.offer, "func", m.offer).__module__.startswith("pcpinn.baselines")}
    assert own >= listed >= own - {"plain-residual", "redrawn"}  # those that other tests register


def test_the_plug_in_works_as_printed():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    try:
        exec(compile(block, "baselines.md", "exec"), {"__name__": "printed"})
        changes = {"iterations": 5, "every": 2, "collocation": 10, "width": 4, "depth": 1}
        solution = catalog_task("poisson1d", "pinnacle-quick", changes, reference=False, method="redrawn").run()
        assert np.isfinite(solution.history.losses).all()
    finally:
        METHODS.discard("redrawn")
        LOSSES.discard("redrawn")
