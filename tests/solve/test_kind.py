"""What an answer is made of follows from its settings, and from what was done with them."""

import pytest

import pcpinn as pc
from pcpinn.bench import suite
from pcpinn.catalog import CATALOG, INVERSE
from pcpinn.solve.kind import LAST_LAYER, SPECTRAL, TRAINED, kind_of


def kind(problem, preset, method=None, **changes):
    return kind_of(CATALOG.find(problem).resolve(preset, changes, method)[1])


def test_kinds_of_known_settings():
    assert kind("poisson2d-c", "default") == TRAINED
    assert kind("gs", "default") == kind("burgers2d-c", "default") == SPECTRAL
    assert kind("heat2d-lt", "default") == LAST_LAYER
    assert kind("heat2d-lt", "default", iterations=5) == TRAINED
    assert kind("poisson2d-c", "default", "random-features") == LAST_LAYER
    assert kind("poisson2d-c", "pinnacle", "pinn") == TRAINED


@pytest.mark.parametrize("problem", suite("paper"))
def test_the_paper_trains_networks(problem):
    assert kind(problem, "paper") == TRAINED


def test_what_was_done_counts():
    """A march may stop at its last layer; one that was allowed to train and did not is no trained network."""
    _, settings = CATALOG.find("heat2d-lt").resolve("paper", {})
    assert kind_of(settings, 0) == LAST_LAYER
    assert kind_of(settings, 1) == TRAINED


def test_without_a_network_there_is_none():
    _, settings = INVERSE.find("poisson-inv").resolve("quick", {}, "adjoint")
    assert kind_of(settings) == ""


def test_runs_record_it():
    problem = pc.Problem(
        pc.Interval(0, 1, name="ends"), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
        boundary={"ends": pc.Dirichlet(0.0)},
    )  # fmt: skip
    for shape, expected in (({"depth": 1, "width": 4}, TRAINED), ({"depth": 0}, SPECTRAL)):
        solution = pc.solve(problem, cells=6, iterations=2, certify=False, **shape)
        assert solution.result["network_kind"] == expected
