"""Studies of inverse problems: their data, and rows that tell what went wrong instead of stopping."""

import numpy as np
import pytest

from pcpinn import PcpinnError
from pcpinn.catalog import INVERSE
from pcpinn.study import conduct, find_study, inverse_comparison
from pcpinn.study.inverse_comparison import PAPER, attempt, compute
from pcpinn.study.inverse_robustness import STUDY, cases, clustered, with_outliers
from pcpinn.study.study import Context

SIZES = {**STUDY.small, "usual_points": 100, "points": (25,)}


@pytest.mark.parametrize("name", INVERSE.names())
def test_cases_are_what_they_say(name):
    entry = INVERSE.find(name)
    made = list(cases(entry, SIZES, seed=0))
    assert len({(c.name, c.value) for c in made}) == len(made)
    by_name = {(c.name, c.value): c for c in made}
    quiet, loud = (by_name["noise, percent", p].data for p in (0, 50))
    assert np.std(loud.values - quiet.values) == pytest.approx(0.5, rel=0.2)
    assert len(by_name["points", 25].data) == 25
    assert {c.changes["misfit"] for c in made if c.name.startswith("outliers")} == {"squares", "huber"}
    assert by_name["noise not given", None].data.noise is None
    late = [c for c in made if c.name == "no data in time"]
    assert len(late) == (3 if name == "heat-inv" else 0)
    for case in late:
        start, _, end = case.value.partition(" to ")
        t = case.data.points[:, -1]
        assert not ((t > float(start)) & (t < float(end))).any()


def test_clusters_leave_most_of_the_domain_empty():
    data = clustered(INVERSE.find("poisson-inv"), 3, 200, 0.1, seed=0)
    assert len(data) == 200
    filled = {tuple(np.floor(10 * p).astype(int)) for p in data.points}
    assert len(filled) < 40


def test_outliers_are_as_many_as_asked_for():
    usual = INVERSE.find("heat-inv").data(0, noise=0.1, points=100)
    off = np.abs(with_outliers(usual, 0.2, seed=0).values - usual.values)
    assert (off > 0).sum() == 20
    assert off.max() == pytest.approx(1.0)


def test_a_failure_is_a_row(monkeypatch):
    entry = INVERSE.find("poisson-inv")

    def fails(*_, **__):
        raise PcpinnError("no luck", "try again")

    monkeypatch.setattr(inverse_comparison, "infer_by", fails)
    row = attempt("adjoint", entry, "quick", {})
    assert row["outcome"] == "failed: no luck"
    assert row["l2re"] is None
    sizes = {**inverse_comparison.STUDY.small, "seeds": 1}
    data = compute(Context(sizes, problem="heat-inv"))
    assert data["summary"] == {"runs": 4, "failed": 4}
    assert all("failed" in line for line in inverse_comparison.words(data))
    assert data["rows"][0]["paper_l2re"] == PAPER["heat-inv", "infer"][0]
    data = compute(Context({**sizes, "methods": ("adjoint",)}, problem="heat-inv"))
    assert [r["method"] for r in data["runs"]] == ["adjoint"]


def test_what_cannot_be_studied_is_refused():
    with pytest.raises(PcpinnError, match="no inverse problem"):
        compute(Context({}, problem="poisson2d-c"))
    with pytest.raises(PcpinnError, match="preset"):
        conduct(find_study("inverse-comparison"), changes={"preset": "huge"}, device="cpu")
    with pytest.raises(PcpinnError, match="adjiont"):
        conduct(find_study("inverse-comparison"), changes={"methods": "adjiont"}, device="cpu")


def test_zero_is_a_size_where_it_is_one_as_a_rule():
    assert STUDY.sizes(False, {"noise_percent": "0,10", "cells": "0"})["noise_percent"] == (0, 10)
    for changes in ({"noise_percent": "-1"}, {"points": "0"}, {"seeds": "0"}):
        with pytest.raises(PcpinnError, match="does not fit"):
            STUDY.sizes(False, changes)


def test_networks_that_stopped_short_are_named():
    row = {"problem": "poisson-inv", "case": "points", "value": 25, "l2re": 0.1, "converged": True}
    data = {"rows": [row, {**row, "value": 100, "converged": False}], "summary": {"runs": 2, "failed": 0}}
    (said,) = [line for line in STUDY.words(data) if "stopped short" in line]
    assert said.endswith("answer: points 100.")
