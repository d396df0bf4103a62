"""A march within a limit of memory: the same answer, parts that fit, and a refusal before anything is done."""

import sys

import numpy as np
import pytest
import torch
from memory_of_tensors import most_held

from pcpinn import Initial, Neumann, PcpinnError, Periodic, Problem, Rectangle, solve
from pcpinn.precondition.dense_step import dense_bytes
from pcpinn.solve.march import room
from pcpinn.solve.march.room import Rooms, Sizes, divided, parts
from pcpinn.train import heads

GIB = 2**30
BURGERS = Sizes(113_569, 227_138, 3, 2, 33_948, 33_948, False)
WAVE = Sizes(10_609, 21_218, 4, 2, 22, 4096, True, (True, True))
OWN = {"time": "march", "cells": (6, 6), "degree": 2, "steps": 3, "order": 2, "iterations": 0, "start_iterations": 0,
       "split_errors": False, "accuracy": None, "tolerance": 1e-9, "device": "cpu"}  # fmt: skip


def reaction(periodic):
    """u_t = 0.02 Laplace u + u (1 - u) on a square."""
    sides = {"left": Periodic("right"), "bottom": Periodic("top")} if periodic else {"sides": Neumann(0.0)}
    square = Rectangle((0.0, 0.0), (1.0, 1.0)) if periodic else Rectangle((0.0, 0.0), (1.0, 1.0), name="sides")
    return Problem(
        square.over(0.0, 0.5),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.02 * u.grad,
        source=lambda x, u: -u.value * (1 - u.value),
        boundary={
            **sides,
            "initial": Initial(lambda x: 0.5 + 0.2 * torch.cos(2 * torch.pi * x[0]) * torch.cos(2 * torch.pi * x[1])),
        },
    )


CASES = {
    "normal equations of waves": (True, {"features": "waves", "feature_count": 4, "depth": 0}),
    "normal equations of cosines": (False, {"features": "cosines", "feature_count": 8, "depth": 0}),
    "a triangle, hidden layers": (False, {"features": "log", "feature_count": 2, "depth": 1, "width": 60}),
    "inverses in single precision": (True, {"features": "waves", "feature_count": 4, "depth": 0, "solves": "dense"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_answer_does_not_depend_on_the_memory(case, monkeypatch):
    """All is tiled: no table is kept, and factors are as small as they can be."""
    if case.startswith("normal"):
        monkeypatch.setattr(heads, "LARGE", 0)
    periodic, keys = CASES[case]
    problem = reaction(periodic)
    x = np.random.default_rng(0).uniform([0, 0, 0], [1, 1, 0.5], (200, 3))
    free = solve(problem, OWN | keys)
    tight = lambda limit, sizes: Rooms(dense_bytes(round(sizes.dofs), [True], True), 1.0, 1.0)  # noqa: E731
    monkeypatch.setattr(sys.modules["pcpinn.solve.march.march"], "divided", tight)
    limited = solve(problem, OWN | keys)
    assert limited.result["preconditioner"]["solves"].endswith("float32") == ("solves" in keys)
    u, v = free(x), limited(x)
    assert np.abs(u - v).max() < 1e-10 * np.abs(u).max()


def test_a_march_holds_no_more_than_it_may(monkeypatch):
    """Tensors of the whole march; without a limit there would be more."""
    monkeypatch.setattr(room, "PROGRAM", 0.0)
    keys = OWN | {"cells": (24, 24), "features": "cosines", "feature_count": 22, "depth": 0, "steps": 1, "force": True}
    limit = 0.03
    held = [most_held(lambda m=m: solve(reaction(False), keys | m)) / GIB for m in ({}, {"memory": limit})]
    assert held[1] < limit < held[0]


@pytest.mark.parametrize("sizes", [BURGERS, WAVE], ids=["burgers2d-c", "wave2d-cg"])
def test_the_largest_presets_fit_into_16_gib(sizes):
    free, limited = (sum(parts(sizes, divided(limit, sizes)).values()) for limit in (float("inf"), 16 * GIB))
    assert limited < 16 * GIB < 28 * GIB < free


def test_what_is_given_up_first():
    """Tables before precision, precision before inverses at all."""
    kept = divided(64 * GIB, WAVE)
    assert kept.inverses == dense_bytes(21_218, [True, True])
    single = divided(16 * GIB, WAVE)
    assert single.inverses == kept.inverses / 2
    none = divided(8 * GIB, WAVE)
    assert none.inverses == 0
    assert parts(WAVE, none)["dense inverses in P"] == 0
    assert sum(parts(WAVE, none).values()) < 8 * GIB
    whole = parts(BURGERS, divided(64 * GIB, BURGERS))["features at the nodes"]
    assert parts(BURGERS, divided(16 * GIB, BURGERS))["features at the nodes"] < 0.1 * whole


@pytest.mark.parametrize(
    ("keys", "worst"),
    [
        ({"features": "cosines", "feature_count": 150, "depth": 0, "memory": 1.0}, "least squares of the last layer"),
        ({"width": 20, "solves": "dense", "cells": (60, 60), "memory": 1.0}, "dense inverses in P"),
        ({"width": 20, "memory": 0.1}, "the program and its libraries"),
    ],
)
def test_too_little_is_refused_before_the_work_begins(keys, worst, tmp_path):
    with pytest.raises(PcpinnError, match=rf"needs about .* GiB, and memory=.*{worst}(.|\n)*allow memory=\d+"):
        solve(reaction(False), OWN | keys, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
