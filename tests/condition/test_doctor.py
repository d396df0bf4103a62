"""Findings about problems made to have them."""

import json
import math

import pytest
import torch
from cases import chosen
from known_norms import convection, heat, helmholtz, poisson, wave

import pcpinn as pc
from pcpinn import Dirichlet, Field, Initial, Interval, Neumann, Problem, Rectangle
from pcpinn.condition import terms
from pcpinn.condition.checks import corner_gap
from pcpinn.condition.doctor import diagnose, half_of
from pcpinn.condition.findings import ORDER, graded
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.build import make_mesh

SQUARE = Rectangle((0, 0), (1, 1))
ZERO = Dirichlet(0.0)


def about(found, topic):
    return [f for f in found.findings if f.topic == topic]


def test_a_simple_problem_is_fine():
    found = diagnose(poisson(1.0), {"cells": (30,)}, "poisson1d", {"P": (1.0, poisson)})
    assert {f.topic for f in found.findings} >= {
        "condition", "difficulty", "growth", "preconditioner", "precision", "resolution", "conditions", "scaling", "cost"
    }  # fmt: skip
    assert all(f.severity in ("fine", "note") for f in found.findings)
    assert about(found, "condition")[0].number == pytest.approx(4, rel=1e-4)
    assert about(found, "growth")[0].number == pytest.approx(0, abs=1e-3)  # f grows as ||F^-1|| falls
    assert "||F^-1|| grows as P^-2," in about(found, "growth")[0].sentence
    assert about(found, "growth")[0].command == "pcpinn condition poisson1d --set P=2"
    assert about(found, "difficulty")[0].number == pytest.approx(4e-3, rel=0.1)
    assert about(found, "preconditioner")[0].number == pytest.approx(1, abs=0.05)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert all(
        set(f) == {"topic", "severity", "number", "sentence", "command", "accuracy_mode"} for f in data["findings"]
    )


def test_the_worst_comes_first():
    found = diagnose(helmholtz(19.7), {"cells": (8, 8)}, "x")
    levels = [ORDER.index(f.severity) for f in found.findings]
    assert levels == sorted(levels)
    hard = about(found, "difficulty")[0]  # near a resonance, though this f excites it and the condition number is small
    assert hard.number > 0.2
    assert hard.severity == "warning"


def test_growth_with_the_domain():
    """Second order: the square of the size; integration: its first power."""
    assert about(diagnose(poisson(), {"cells": (20,)}), "growth")[0].number == pytest.approx(2, abs=1e-3)
    assert about(diagnose(convection(), {"cells": (20,)}), "growth")[0].number == pytest.approx(1, abs=1e-2)
    over_time = about(diagnose(heat(1e-3), {"cells": (10,), "steps": 10}), "growth")[0]
    assert over_time.number == pytest.approx(1, abs=0.1)  # hardly any diffusion: integration in time
    assert "length of time" in over_time.sentence


def test_half_of_meshes():
    mesh = generate_mesh(SQUARE, cells=(3, 3))
    assert half_of(mesh).bounds[1].tolist() == [0.5, 0.5]
    timed = generate_mesh(Interval(0, 1).over(1, 3), cells=(3,), steps=4)
    assert half_of(timed).bounds[1].tolist() == [1.0, 2.0]
    slabs = make_mesh(heat(), chosen(True, cells=(3,), steps=4, time="slabs"))
    assert half_of(slabs).bounds[1].tolist() == [1.0, 0.5]


def test_sources_and_values_that_cells_do_not_resolve():
    def rough(k):
        return Problem(
            SQUARE,
            lambda x, u: u.grad,
            lambda x, u: -torch.sin(k * x[0]),
            boundary={"left": Dirichlet(lambda x: torch.cos(k * x[1])), "right": Neumann(0.0), "top": Neumann(0.0),
                      "bottom": Neumann(0.0)},
        )  # fmt: skip

    calm, wild = (about(diagnose(rough(k), {"cells": (10, 10)}, "x"), "resolution") for k in (1.0, 40.0))
    assert all(f.severity == "fine" for f in calm)
    assert sum(f.severity == "warning" for f in wild) == 2
    assert all("--set size=" in f.command for f in wild)


def operator(b=0.0, r=0.0):
    return Problem(
        Interval(0, 1, name="ends"),
        lambda x, u: u.grad,
        lambda x, u: b * u.grad[0] + r * u.value - 1.0,
        boundary={"ends": ZERO},
    )


@pytest.mark.parametrize(
    ("problem", "word", "number"),
    [
        (operator(b=400.0), "Peclet", 400 * 0.05 / 4),
        (operator(r=-900.0), "wave length", 2 * math.pi / (30 * 0.05 / 2)),
        (operator(r=1e4), "layers", 100 * 0.05 / 2),
    ],
    ids=["peclet", "waves", "layers"],
)
def test_operators_that_cells_do_not_resolve(problem, word, number):
    found = [f for f in about(diagnose(problem, {"cells": (20,)}, "x"), "resolution") if word in f.sentence]
    assert found[0].number == pytest.approx(number, rel=1e-6)
    assert found[0].severity in ("note", "warning")
    assert "size=0.025" in found[0].command


def test_time_steps_of_waves():
    slow = [
        f for f in about(diagnose(wave(), {"cells": (10,), "steps": 10}, "x"), "resolution") if "crosses" in f.sentence
    ]
    assert slow[0].number == pytest.approx(2.0)
    assert slow[0].severity == "warning"
    assert slow[0].command.endswith("steps=40")


def square_with(**boundary):
    return Problem(SQUARE, lambda x, u: u.grad, lambda x, u: -1.0, boundary=boundary)


@pytest.mark.filterwarnings("ignore::pcpinn.PcpinnWarning")
def test_boundaries():
    found = about(diagnose(square_with(left=ZERO), {"cells": (6, 6)}, "x"), "conditions")
    assert found[0].severity == "warning"
    assert found[0].number == 3
    jumping = square_with(left=ZERO, top=Dirichlet(1.0), right=Dirichlet(1.0), bottom=Neumann(0.0))
    gap = about(diagnose(jumping, {"cells": (6, 6)}, "x"), "conditions")[0]
    assert gap.severity == "warning"
    assert gap.number == pytest.approx(1)
    assert "'left'" in gap.sentence
    assert "'top'" in gap.sentence
    assert (
        corner_gap(square_with(left=ZERO, top=Dirichlet(lambda x: x[0])), generate_mesh(SQUARE, cells=(4, 4)))[0] == 0
    )


def test_initial_values_that_contradict_the_boundary():
    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={"left": ZERO, "right": ZERO, "initial": Initial(1.0, rate=0.0)},
    )
    gap, where = corner_gap(problem, generate_mesh(problem.domain, cells=(4,), steps=8))
    assert gap == 1
    assert "initial" in where


def test_fields_of_different_size():
    sides = {name: {"u": ZERO, "v": ZERO} for name in SQUARE.boundary_names}
    problem = Problem(
        SQUARE, lambda x, u, v: (u.grad, v.grad), lambda x, u, v: (-1.0, -1e5), sides, (Field("u"), Field("v"))
    )
    found = about(diagnose(problem, {"cells": (6, 6)}, "x"), "scaling")
    assert found[0].number == pytest.approx(1e5, rel=1e-6)
    assert found[0].severity == "warning"
    large = about(diagnose(poisson(f=1e9), {"cells": (20,)}, "x"), "scaling")[0]
    assert "of size" in large.sentence
    assert large.severity == "note"


def test_precision_is_what_rounding_does():
    """Fine meshes lose digits: the number grows with the square of the cells."""
    coarse, fine = (about(diagnose(poisson(), {"cells": (n,)}), "precision")[0].number for n in (20, 160))
    assert 1e-8 < coarse < 1e-5 < 100 * coarse
    assert fine > 5 * coarse


def test_marches_are_examined_over_all_of_time():
    found = diagnose(
        heat(), {"cells": (10,), "steps": 8, "scheme": "euler", "time": "march", "window": 2, "iterations": 0}, "x"
    )
    assert found.condition.how == "slab by slab"
    assert about(found, "preconditioner")[0].number == pytest.approx(1, rel=1e-3)


def test_grades():
    assert [graded(v, 1, 2, 3) for v in (0.5, 1, 2, 3)] == ["fine", "note", "warning", "problem"]


def test_waves_that_cross_the_domain_often_are_examined_over_the_first_part_of_the_time():
    """All of it at once is beyond all numbers: the doctor said that the matrix is singular, and nothing else."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 20),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "initial": pc.Initial(lambda x: torch.sin(8 * torch.pi * x[0]), rate=0.0),
        },
    )
    found = pc.diagnose(problem)
    assert found.note.startswith("measured over the time up to t = ")
    assert about(found, "travel")[0].number == pytest.approx(20, rel=0.01)
    assert about(found, "difficulty")[0].severity == "warning"


@pytest.mark.parametrize(
    ("squared", "free", "told"), [(1.0, False, True), (0.25 * 1.0001, True, True), (0.1, True, False)]
)
def test_the_first_resonance_of_a_line(squared, free, told):
    """u'' + k^2 u = -1, k = pi where both ends are held, pi / 2 where one is free: no whole wave fits in."""
    problem = pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -squared * torch.pi**2 * u.value - 1.0,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Neumann(0.0) if free else pc.Dirichlet(0.0)},
    )
    found = about(pc.diagnose(problem), "resonance")
    assert bool(found) == told
    assert not told or (found[0].severity == "warning" and found[0].number < 1e-3)


def test_small_holes_do_not_keep_the_doctor():
    """Differences of the size of a typical cell ended in the hole, and were looked for in thousands of cells."""
    sides = dict.fromkeys(("left", "right", "bottom", "top"), pc.Dirichlet(0.0))
    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1)) - pc.Disk((0.5, 0.5), 0.004, name="hole"),
        flux=lambda x, u: u.grad,
        boundary={**sides, "hole": pc.Dirichlet(1.0)},
    )
    fe = FiniteElements(problem, generate_mesh(problem.domain, curvature=2), degree=2)
    x, own = terms._inside(fe, 200)
    for axis in range(2):
        moved = x.copy()
        moved[:, axis] += 0.7 * own[:, axis]
        assert not fe.space.scalar[0].outside(moved).any()
