"""docs/paper-presets.md: each row is what the preset says."""

from pathlib import Path

import pytest

from pcpinn.bench import suite
from pcpinn.catalog import CATALOG, INVERSE

PAGE = Path(__file__).parents[2] / "docs" / "paper-presets.md"


def row(name):
    """The preset `paper` of a problem as a line of the table."""
    _, s = CATALOG.find(name).resolve("paper", {})
    n, mesh = s.network, s.mesh
    cells = " x ".join(map(str, mesh.cells)) if mesh.cells else f"size {mesh.size:g}"
    if s.marches:
        t = s.time
        algorithm = "3" if name == "wave2d-cg" else "3, linear part"  # which is linear
        time = f"{t.steps // t.window} x {t.window}"
        iterations, cold = f"{s.optimiser.iterations}", str(t.cold_iterations or "-")
        causal = "yes" if t.causality else "-"
    else:
        many = s.newton.newton_iterations if s.newton.forcing == 0 else 0
        algorithm, cold, causal = "4" if many else "1", "-", "-"
        time = "-" if s.time is None else f"{s.time.steps} at once"
        iterations = f"{many} x {s.optimiser.iterations // many}" if many else f"{s.optimiser.iterations}"
    features = "128 Gaussian" if n.features == "gaussian" else "10 log"
    facts = (name, algorithm, f"{cells}, degree {mesh.degree}", time, f"{s.preconditioner.drop_tolerance:g}")
    return "| " + " | ".join((*facts, f"{n.depth} x {n.width}, {features}", iterations, cold, causal)) + " |"


@pytest.mark.parametrize("name", suite("paper"))
def test_forward(name):
    assert row(name) in PAGE.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("entry", INVERSE, ids=lambda e: e.name)
def test_inverse(entry):
    _, s = entry.resolve("paper", {})
    cells = " x ".join(map(str, (*s.mesh.cells, *((s.time.steps,) if s.time else ()))))
    networks = f"{s.network.depth} x {s.network.width} | {s.loss.coefficient_depth} x {s.loss.coefficient_width}"
    line = f"| {entry.name} | {cells} | {networks} | {s.loss.warmup} | {s.optimiser.iterations} |"
    assert line in PAGE.read_text(encoding="utf-8").splitlines()
