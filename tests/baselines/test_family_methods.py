"""Methods that families are compared with: each on a small family, against truth."""

import numpy as np
import pytest
import torch
from families import line_family

import pcpinn as pc
from pcpinn.family.measure import measure
from pcpinn.family.unseen import solve_unseen
from pcpinn.solve.method import FAMILY_METHODS

MESH = {"cells": (6,), "degree": 3, "device": "cpu"}
TABLES = ("nearest", "polynomial", "pod")
NETWORK = MESH | {"width": 10, "depth": 2, "samples": 24, "validation": 8}


def solved(name, family=None, **settings):
    method = FAMILY_METHODS.find(name)
    return method.solver(family or line_family(), settings)


@pytest.fixture(scope="module")
def unseen():
    return solve_unseen(line_family(), {"cells": (12,), "degree": 4}, 12)


@pytest.mark.parametrize(
    ("name", "settings", "largest"),
    [
        ("nearest", MESH | {"solves": 32}, 0.5),
        ("polynomial", MESH | {"solves": 48}, 2e-2),
        ("pod", MESH | {"solves": 16}, 1e-4),
        ("regression", NETWORK | {"solves": 32, "iterations": 60}, 5e-2),
        (
            "pino",
            NETWORK
            | {"samples": 12, "collocation": 16, "iterations": 1200, "learning_rate": 5e-3, "boundary_weight": 10.0},
            0.4,
        ),
    ],
)
def test_error_at_unseen_parameters(name, settings, largest, unseen):
    answer = solved(name, **settings)
    found = measure(answer, unseen)
    assert found["worst"] < largest
    assert found["within_two"] > 0.9  # estimates are the same for all methods
    assert answer.at([0.5, 1.0])([[0.5]]) == pytest.approx(answer([[0.5]], [0.5, 1.0]))


def test_more_solutions_are_better(unseen):
    errors = [measure(solved("nearest", **MESH, solves=m), unseen)["mean"] for m in (4, 64)]
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("name", TABLES)
def test_solutions_are_met_where_they_were_solved(name):
    from pcpinn.baselines.family_tables import drawn
    from pcpinn.family.direct import direct_solutions
    from pcpinn.family.discretise import make_system
    from pcpinn.solve.settings import Settings

    family = line_family()
    answer = solved(name, family, **MESH, solves=40, **({"order": 6} if name == "polynomial" else {}))
    system = make_system(family, answer.mesh, Settings.from_dict(answer.settings), torch.device("cpu"))
    mu = family.value(drawn(family, 40, 0))[:3]
    u = direct_solutions(system, mu)
    for m, own in zip(mu, u, strict=True):
        off = answer(system.nodes.points, m.numpy())[system.nodes.point_of] - own
        assert np.abs(off).max() < (2e-2 if name == "polynomial" else 1e-6) * np.abs(own).max()


def test_pod_follows_newton():
    def nonlinear(a):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: (1 + u.value**2) * u.grad,
            source=lambda x, u: -a,
            boundary={"left": pc.Dirichlet(lambda x: 0.01 * a), "right": pc.Dirichlet(0.0)},
        )

    family = pc.Family(nonlinear, a=pc.Range(1, 20))
    found = measure(solved("pod", family, **MESH, solves=12), solve_unseen(family, {"cells": (12,), "degree": 4}, 6))
    assert found["worst"] < 1e-3


def test_refused(tmp_path):
    with pytest.raises(pc.PcpinnError, match="not read with method=pod"):
        solved("pod", **MESH, width=8)
    with pytest.raises(pc.PcpinnError, match="accuracy"):
        solved("nearest", **MESH, accuracy=1e-2)
    answer = FAMILY_METHODS.find("nearest").solver(line_family(), dict(MESH, solves=4), out=tmp_path / "run")
    with pytest.raises(pc.PcpinnError, match="not kept"):
        answer.save(tmp_path / "other")
    with pytest.raises(pc.PcpinnError, match="not its tables"):
        pc.load(tmp_path / "run")
    with pytest.raises(pc.PcpinnError, match="cannot be resumed"):
        FAMILY_METHODS.find("nearest").solver(line_family(), MESH, out=tmp_path / "run", resume=True)
