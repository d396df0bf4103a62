"""Adjoint method: exact discrete gradients, penalties, the discrepancy principle, the record of a run."""

import json

import numpy as np
import pytest
import torch
from cases import chosen

from pcpinn import (
    Coefficient,
    Dirichlet,
    Interval,
    Neumann,
    Observations,
    Parameter,
    PcpinnError,
    Problem,
    Rectangle,
    Truth,
    load,
)
from pcpinn.baselines.adjoint import Descent
from pcpinn.baselines.inverse_methods import infer_by
from pcpinn.baselines.reduced import Reduced, _tied
from pcpinn.baselines.smoothness import Roughness, free_roughness, roughness
from pcpinn.catalog.heat_inv import ENTRY as HEAT
from pcpinn.catalog.poisson_inv import ENTRY as POISSON
from pcpinn.files import write_tensors
from pcpinn.invert.setup import make_equations
from pcpinn.problem.family import Family
from pcpinn.solve.build import make_mesh
from pcpinn.solve.settings import problem_is_over_time


def _equations(family, **changes):
    settings = chosen(problem_is_over_time(family.base), method="infer", **changes)
    return make_equations(family, make_mesh(family.base, settings), settings)


def _reduced(family, data, kind="tikhonov", robust=False, **changes):
    noise = np.asarray(data.noise)
    return Reduced(_equations(family, **changes), (data,), [noise], kind, robust).with_penalty()


def _all_kinds(a, k):
    """Unknowns in flux, source (with u squared) and a prescribed value."""
    return Problem(
        Rectangle((0, 0), (2, 1)),
        flux=lambda x, u: a(x) * u.grad,
        source=lambda x, u: k[0] * u.value**2 - 1 - x[0],
        boundary={
            "left": Dirichlet(lambda x: k[1] * x[1]),
            "right": Dirichlet(0.0),
            "bottom": Neumann(0.0),
            "top": Neumann(0.0),
        },
    )


_UNKNOWNS = {
    "a": Coefficient(initial=1.0, low=0.1, known={"bottom": 1.5}),
    "k": Parameter((0.5, 0.7), low=0.1, high=3.0, spread=2.0),
}


def _scattered(seed, count, upper, noise=0.1):
    random = np.random.default_rng(seed)
    return Observations(random.uniform(size=(count, len(upper))) * upper, random.normal(size=count), noise)


@pytest.mark.filterwarnings("ignore:no condition on 'final'")
@pytest.mark.parametrize(
    "made",
    [
        lambda: _reduced(POISSON.family(), POISSON.data(0, points=100), cells=(2, 2), degree=2),
        lambda: _reduced(POISSON.family(), POISSON.data(0, points=100), "tv", True, cells=(2, 2), degree=2),
        lambda: _reduced(Family(_all_kinds, _UNKNOWNS), _scattered(0, 30, (2.0, 1.0)), cells=(2, 2), degree=2),
        lambda: _reduced(
            HEAT.family(), HEAT.data(0, points=60), cells=(2, 2), steps=2, time="slabs", scheme="radau", order=2
        ),
        lambda: _reduced(HEAT.family(), HEAT.data(0, points=60), cells=(2, 2), steps=2, degree=1),
    ],
    ids=["poisson", "tv-huber", "nonlinear", "slabs", "space-time"],
)
def test_gradient_is_that_of_the_discrete_functional(made):
    reduced, random = made(), np.random.default_rng(1)
    reduced.weight = 2.0
    z = reduced.start + 0.05 * random.normal(size=reduced.size)
    _, gradient = reduced(z)
    for part in (*reduced._parts, reduced._free):
        direction = np.zeros(reduced.size)
        direction[part] = random.normal(size=len(direction[part]))
        if not direction.any():
            continue
        h = 1e-5
        differences = (reduced(z + h * direction)[0] - reduced(z - h * direction)[0]) / (2 * h)
        assert differences == pytest.approx(gradient @ direction, rel=2e-6, abs=1e-7)


def test_known_values_of_a_coefficient_stay():
    reduced = _reduced(POISSON.family(), POISSON.data(0, points=100), cells=(2, 2), degree=2)
    c = reduced.coefficients(np.full(reduced.size, 7.0))[:, 0]
    nodes = reduced.equations.coefficient_nodes
    edge = ((nodes == 0) | (nodes == 1)).any(axis=1)
    assert len(c[edge]) + len(reduced.start) - len(reduced.equations.free) == len(c)
    exact = POISSON.truth().coefficients["a"].max()
    assert c[~edge] == pytest.approx(2.8)
    assert (c[edge] <= exact).all()


@pytest.mark.filterwarnings("ignore:no condition on 'final'")
def test_a_coefficient_of_space_has_one_value_over_all_times():
    reduced = _reduced(HEAT.family(), HEAT.data(0, points=60), cells=(2, 2), steps=3, degree=1)
    assert reduced.size - len(reduced.equations.free) == 1  # one node of space is not on the sides
    space = reduced.equations.discretisation.space.scalar[0]
    space.nodes = space.nodes + 0.01 * np.random.default_rng(0).normal(size=space.nodes.shape)
    with pytest.raises(PcpinnError, match="space alone"):
        _tied(reduced.equations, "a", HEAT.family().unknowns["a"])


def test_roughness_of_a_slope():
    family = POISSON.family()
    space = _equations(family, cells=(3, 3), degree=2).discretisation.space
    x = space.scalar[0].nodes
    plane = 3 * x[:, 0] - 4 * x[:, 1]
    value, gradient = roughness(space, unit=2.0).value(plane)
    assert value == pytest.approx(0.5 * 25 / 4)
    assert gradient @ plane == pytest.approx(2 * value)
    value, _ = roughness(space, unit=2.0, kind="tv").value(plane)
    assert value == pytest.approx(2.5, rel=5e-3)
    assert isinstance(roughness(space, 1.0), Roughness)


def test_roughness_along_free_boundaries_sees_these_alone():
    equations = _equations(POISSON.family(), cells=(3, 3), degree=2)
    x = equations.discretisation.unknown_nodes
    R = free_roughness(equations, unit=0.5)
    assert set(np.unique(R.nonzero()[0])) <= set(equations.free)
    assert x[:, 0] @ R @ x[:, 0] == pytest.approx(4 * 2)  # bottom and top
    assert abs(R @ np.ones(len(x))).max() < 1e-10
    slabs = _equations(HEAT.family(), cells=(2, 2), steps=2, time="slabs", scheme="radau", order=2)
    points = slabs.discretisation.unknown_nodes
    R = free_roughness(slabs, unit=1.0)
    assert points[:, 2] @ R @ points[:, 2] == pytest.approx(
        8 / 2
    )  # slope 1 in time over sides of length 8, in units of 2


def test_weight_follows_from_the_noise():
    data = POISSON.data(0, points=400)
    reduced = _reduced(POISSON.family(), data, cells=(2, 2), degree=2)
    descent = Descent(reduced, iterations=40)
    search = descent.by_discrepancy()
    assert search.reached
    assert search.chosen.state.misfit == pytest.approx(400, abs=0.1 * np.sqrt(800))
    misfits = [m.state.misfit for m in search.tried]
    assert misfits == sorted(misfits, reverse=True)
    assert descent.done == len(descent.history.rows) == sum(m.iterations for m in search.tried)


def test_a_misfit_out_of_reach_is_told():
    data = POISSON.data(0, points=100)
    far = Observations(data.points, data.values, 1e-4)
    search = Descent(_reduced(POISSON.family(), far, cells=(1, 1), degree=1), iterations=3).by_discrepancy()
    assert not search.reached
    assert search.describe()["misfit_reached"] is False


def _rod(k):
    return Problem(
        Interval(0, 1),
        flux=lambda x, u: k * u.grad,
        source=lambda x, u: -1.0 + 0 * x[0],
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
    )


def test_a_number_is_found():
    x = np.linspace(0.1, 0.9, 9)[:, None]
    data = Observations(x, x[:, 0] * (1 - x[:, 0]) / (2 * 2.5), 1e-3)
    truth = Truth(x, x * (1 - x) / 5, parameters={"k": 2.5})
    solution = infer_by("adjoint", _rod, data, {"k": Parameter(1.0, low=0.1, high=10.0)}, cells=(4,), truth=truth)
    assert solution.parameters["k"] == pytest.approx(2.5, rel=1e-4)
    assert solution.errors["field"]["k"]["l2re"] < 1e-4
    assert solution([[0.5]]) == pytest.approx([0.05], rel=1e-3)
    with pytest.raises(PcpinnError, match="no posterior"):
        solution.std("k")


def test_run_folder_and_record(tmp_path):
    build, unknowns = POISSON.problem()
    data = POISSON.data(0, points=100)
    solution = infer_by(
        "adjoint-tikhonov",
        build,
        data,
        unknowns,
        cells=(2, 2),
        iterations=5,
        out=tmp_path / "run",
        truth=POISSON.truth(),
    )
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result == json.loads(json.dumps(solution.result))
    assert result["method"] == "adjoint-tikhonov"
    assert set(result["errors"]["field"]) == {"u", "a"}
    assert result["penalty"]["weight"] > 0
    assert {"time", "memory", "environment", "inverse", "dofs", "parameters", "loss"} <= set(result)
    assert (tmp_path / "run" / "nodal.safetensors").exists()
    assert min(m["l2re"] for m in result["penalty"]["tried"]) <= result["errors"]["l2re"]
    a = solution.coefficient("a")
    assert a([[0.0, 0.0]]) == pytest.approx(POISSON.truth().coefficients["a"][0])
    assert a(torch.zeros(1, 2)).shape == (1,)
    again = load(tmp_path / "run")
    x = np.random.default_rng(0).uniform(size=(5, 2))
    assert np.array_equal(again(x), solution(x))
    assert np.array_equal(again.coefficient("a")(x), a(x))
    assert again.result == result
    assert np.array_equal(again.data[0].values, data.values)
    write_tensors(tmp_path / "run" / "nodal.safetensors", {"u": np.zeros(3)}, {})
    with pytest.raises(PcpinnError, match="does not fit"):
        load(tmp_path / "run")


def test_what_cannot_be_run_is_refused(tmp_path):
    build, unknowns = POISSON.problem()
    data = POISSON.data(0, points=100)
    with pytest.raises(PcpinnError, match="no method for inverse problems 'magic'"):
        infer_by("magic", build, data, unknowns)
    blind = Observations(data.points, data.values)
    with pytest.raises(PcpinnError, match="noise is not known"):
        infer_by("adjoint-tikhonov", build, blind, unknowns, cells=(2, 2))
    for key, value in (("checkpoint_every", 1.0), ("memory", 1.0), ("certify", True)):
        with pytest.raises(PcpinnError, match=f"{key} has no effect here"):
            infer_by("adjoint", build, data, unknowns, cells=(2, 2), **{key: value})
    with pytest.raises(PcpinnError, match=r"CUDA|CPU alone"):
        infer_by("adjoint", build, data, unknowns, cells=(2, 2), device="cuda")
    with pytest.raises(PcpinnError, match="resumed"):
        infer_by("adjoint", build, data, unknowns, cells=(2, 2), resume=True, out=tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_time_limit_keeps_the_best():
    reduced = _reduced(POISSON.family(), POISSON.data(0, points=100), cells=(2, 2), degree=2)
    for search in (
        Descent(reduced, time_limit=1e-9).without_penalty(),
        Descent(reduced, time_limit=1e-9).by_discrepancy(),
    ):
        assert search.chosen.message == "time limit"
        assert np.isfinite(search.chosen.state.misfit)
