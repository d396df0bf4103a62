"""Numbers too large for their squares: what was trained is kept, and the record says what overflowed."""

import json

import numpy as np
import pytest
from small import QUICK

import pcpinn as pc

ENDS = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy says that it overflows


def bar(k, source=-1.0):
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: k * u.grad, source=lambda x, u: source, boundary=ENDS)


def test_a_huge_source_is_solved_and_kept(tmp_path):
    solution = pc.solve(bar(1.0, -1e160), out=tmp_path / "run", **QUICK)
    record = json.loads((tmp_path / "run" / "result.json").read_text())
    assert record["errors"]["estimate"] is None
    assert record["not_finite"]["errors.estimate"] in ("inf", "nan")
    back = pc.load(tmp_path / "run")
    np.testing.assert_array_equal(back([[0.5]]), solution([[0.5]]))
    assert back.result.message


def test_to_an_accuracy_it_is_refused(tmp_path):
    with pytest.raises(pc.PcpinnError, match=r"1\.3e\+159.*\n.*units"):
        pc.solve(bar(1.0, -1e160), accuracy=1e-2, out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_a_huge_datum_does_not_lose_an_inference(tmp_path):
    x = np.linspace(0.05, 0.95, 20)[:, None]
    values = x[:, 0] * (1 - x[:, 0]) / 4
    values[3] = 1e300
    unknown = {"k": pc.Parameter(1.0, low=0.1)}
    found = pc.infer(bar, pc.Observations(x, values, 0.01), unknown, out=tmp_path / "run", **QUICK)
    back = pc.load(tmp_path / "run")
    np.testing.assert_array_equal(back.parameters["k"], found.parameters["k"])
    assert back.result["inverse"]["misfit"] == [None]
    assert back.result["not_finite"] == {"inverse.misfit[0]": "inf"}
    assert not back.result.success
