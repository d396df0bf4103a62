"""Trunks between nodes: what discrete functions are there, and units that are steeper than cells."""

from dataclasses import replace

import pytest
import torch
from families import rod
from test_units import slabs, square

import pcpinn as pc
from pcpinn.family import spanned
from pcpinn.family.between import Between
from pcpinn.family.run import FamilyRun, family_settings
from pcpinn.family.superposed import units
from pcpinn.family.superposition import Superposition


@pytest.mark.parametrize("system", [square(), slabs()], ids=["space", "space-time"])
def test_values_between_nodes_are_those_of_the_polynomials(system):
    places = torch.as_tensor(system.nodes.points)[torch.as_tensor(system.nodes.point_of)]
    functions = (lambda x: 3 * x[:, 0] - x[:, 1], lambda x: x[:, 0] * x[:, 1] + x[:, 0] ** 2)
    v = torch.stack([f(places) for f in functions])
    answers = Superposition(torch.zeros(1), torch.ones(1), v)
    between = Between(system, 50)
    x = torch.as_tensor(between.points)
    (part,) = between.parts(answers, first=7)
    unit = units(system, answers)[0]
    for k, f in enumerate(functions):
        assert torch.allclose(part.target[k, 0] * unit, f(x))
    assert part.points.tolist() == list(range(7, 57))
    assert part.components == [0]


def test_units_steeper_than_cells_are_fitted_between_nodes(monkeypatch):
    """Few nodes in time, and units that vary within a step of it: right at nodes alone says nothing."""
    monkeypatch.setattr(spanned, "_TRUNK_STEPS", 8)
    monkeypatch.setattr(spanned, "nodes_for", lambda width: 800)
    choices = {"cells": (12,), "degree": 3, "time": pc.Slabs(steps=5, order=2), "device": "cpu", "accuracy": None}
    family = pc.Family(lambda k: rod(k, 0.0), k=pc.Range(0.1, 0.6))
    choices |= {
        "loss": "spanned",
        "snapshots": 16,
        "network": "trunk-branch",
        "depth": 1,
        "width": 120,
        "branch_depth": 1,
    }
    run = FamilyRun(family, family_settings(family, None, choices))
    loss = run.loss
    start = loss.span.units
    loss.span = replace(loss.span, units=replace(start, weight=40 * start.weight, bias=40 * start.bias))
    loss.prepare()
    between = Between(loss.system, 500, seed=5)
    (part,) = between.parts(loss.span.answers)
    x = loss.functions.encode(torch.as_tensor(between.points).to(loss.functions.theta))
    phi = loss.functions.hidden(loss.functions.theta, x)
    c = loss.functions.head(loss.functions.theta, torch.eye(loss.span.count, dtype=torch.float64))[:, 0]
    found = (phi @ c[:, :-1].T + c[:, -1]) * loss.functions.output_scale
    wanted = (part.target[1:, 0] * part.unit[0]).T
    assert float((found - wanted).detach().norm() / wanted.norm()) < 0.1
    assert loss.trunk_error < 0.1
