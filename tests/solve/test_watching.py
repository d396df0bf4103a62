"""The error along a training: in the history, in history.csv, in the record; of every kind of run."""

import numpy as np
import pytest

from pcpinn import load
from pcpinn.catalog.task import catalog_task

SMALL = {"iterations": 20, "cells": 8, "width": 5, "depth": 1, "certify": False}


@pytest.mark.parametrize("method", ["pcpinn", "fem-fit", "lra"])
def test_errors_along_the_way(method, tmp_path):
    changes = {**SMALL, **({"collocation": 20} if method == "lra" else {"patience": 0})}
    task = catalog_task("poisson1d", "quick", changes, method=method)
    solution = task.run(tmp_path / "run")
    rows = solution.result["error_history"]
    assert rows[-1][0] == solution.result["iterations"]
    assert rows[-1][2] == solution.errors["l2re"]
    assert 1 <= len(rows) <= 20
    again = load(tmp_path / "run")
    assert list(again.history.errors.values()) == [error for _, _, error in rows]
    header, *lines = (tmp_path / "run" / "history.csv").read_text().splitlines()
    assert header == "iteration,seconds,loss,residual,l2re"
    assert sum(line.split(",")[-1] != "" for line in lines) == len(rows)


def test_nothing_without_a_reference():
    task = catalog_task("poisson1d", "quick", {**SMALL, "collocation": 20}, reference=False, method="pinn")
    assert task.run().result["error_history"] == []


def test_watching_changes_nothing():
    """The same weights, bit by bit."""
    changes = {**SMALL, "collocation": 20}
    watched, alone = (catalog_task("poisson1d", "quick", changes, r, "pinn").run() for r in (True, False))
    x = np.linspace(0, 1, 5)[:, None]
    assert (watched(x) == alone(x)).all()
