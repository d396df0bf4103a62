"""Error measures, by hand."""

import math

import numpy as np
import pytest

from pcpinn import Reference
from pcpinn.solution.reference import compare, metrics


def test_metrics_by_hand():
    found = metrics(np.array([1.0, 2.0, 5.0]), np.array([1.0, 4.0, 4.0]))  # errors 0, 2, 1
    assert found == pytest.approx({"l2re": math.sqrt(5 / 33), "l1re": 3 / 9, "mse": 5 / 3, "mae": 1.0, "max": 2.0})


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_relative_errors_do_not_depend_on_units(scale):
    u, r = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.5, 2.0], [3.0, 4.0]])
    a, b = metrics(u, r), metrics(scale * u, scale * r)
    assert [b["l2re"], b["l1re"]] == pytest.approx([a["l2re"], a["l1re"]])
    assert [b["mae"], b["max"], b["mse"]] == pytest.approx([scale * a["mae"], scale * a["max"], scale**2 * a["mse"]])


def test_zero_errors_and_zero_references():
    r = np.array([1.0, -2.0])
    assert set(metrics(r, r).values()) == {0.0}
    found = metrics(r, np.zeros(2))
    assert found["l2re"] is None
    assert found["l1re"] is None
    assert found["max"] == 2.0


def test_compare_picks_components():
    """Columns of the reference go to the named components; the figures in all are over both columns."""
    u = np.array([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])
    reference = Reference(np.zeros((2, 2)), np.array([[100.0, 1.0], [201.0, 4.0]]), components=(2, 0))
    found = compare(u, reference, ("a", "b", "c"))
    assert found["field"].keys() == {"c", "a"}
    assert found["field"]["c"]["max"] == 1.0
    assert found["field"]["a"]["max"] == 2.0
    assert found["field"]["a"]["l2re"] == pytest.approx(2 / math.sqrt(17))
    assert found["max"] == 2.0
    assert found["mae"] == pytest.approx(3 / 4)
    assert found["l2re"] == pytest.approx(math.sqrt(5 / (100**2 + 201**2 + 17)))
