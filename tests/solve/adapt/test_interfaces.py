"""Interfaces are found and followed: discrete solutions with a jump keep their order."""

import runpy
from pathlib import Path

import numpy as np

from pcpinn.progress import Progress
from pcpinn.solve.adapt.interfaces import interfaces_of
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.space import adapt
from pcpinn.solve.linear import settings_of

STRANGERS = Path(__file__).parents[2] / "strangers"


def test_a_disk_that_conducts_better_needs_few_degrees_of_freedom():
    given = runpy.run_path(str(STRANGERS / "inclusion.py"))
    problem, reference = given["problem"], given["reference"]
    known = interfaces_of(problem)
    mesh = known.first_mesh(problem, settings_of("pcpinn", problem, None, {}))
    found = adapt(problem, mesh, Elements(3, "lagrange", 8), 3.5e-4, Limits(60), Progress(), settled=known.settled)
    u = found.level.coarse.interpolate(found.level.u, reference.points)
    true = np.linalg.norm(u - reference.values) / np.linalg.norm(reference.values)
    assert found.limited_by is None
    assert found.level.coarse.size < 5000  # 116 000 without
    assert true < 1e-4
    assert found.trust > 0.7
