"""Truth at unseen parameters, and what is measured against it."""

import numpy as np
import pytest
import torch
from families import QUICK, line_family

import pcpinn as pc
from pcpinn.family.direct import direct_solutions
from pcpinn.family.discretise import make_system
from pcpinn.family.measure import measure
from pcpinn.family.run import family_settings
from pcpinn.family.unseen import read_unseen, solve_unseen
from pcpinn.solve.build import make_mesh

FINE = {"cells": (12,), "degree": 4}


def reaction(k):
    """-u'' + k^2 u = k^2, u = 0 at the ends: 1 - cosh(k (x - 1/2)) / cosh(k / 2)."""
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: k**2 * (u.value - 1),
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )


@pytest.fixture(scope="module")
def unseen():
    return solve_unseen(pc.Family(reaction, k=pc.Range(1, 5)), FINE, 6)


def exact(unseen):
    k, x = unseen.mu, unseen.points[:, 0]
    return (1 - np.cosh(k * (x - 0.5)) / np.cosh(k / 2))[:, :, None]


def test_truth_is_the_solution_and_knows_its_error(unseen):
    found = unseen.errors(exact(unseen))
    assert found.shape == (6, 1)
    assert found.max() < 1e-7
    assert 1e-14 < unseen.error < 1e-6


def test_errors_are_relative(unseen):
    assert np.allclose(unseen.errors(1.1 * unseen.values[:, np.argsort(unseen.point_of), None]), 0.1)


def test_kept_and_read_again(unseen, tmp_path):
    unseen.save(tmp_path / "truth.safetensors")
    again = read_unseen(tmp_path / "truth.safetensors")
    assert np.array_equal(again.values, unseen.values)
    assert (again.error, again.how) == (unseen.error, unseen.how)


def test_an_interrupted_comparison_goes_on(unseen, tmp_path, monkeypatch):
    """Solutions that were kept are not solved again; those of other parameters are no use."""
    from pcpinn.family import unseen as module

    solves, whole, kept = [], module.direct_solutions, tmp_path / "new" / "truth.part"

    def counted(system, mu):
        solves.append(len(mu))
        if len(solves) == 2:
            raise KeyboardInterrupt
        return whole(system, mu)

    monkeypatch.setattr(module, "direct_solutions", counted)
    monkeypatch.setattr(module, "_AT_A_TIME", 4)
    family = pc.Family(reaction, k=pc.Range(1, 5))
    with pytest.raises(KeyboardInterrupt):
        solve_unseen(family, FINE, 6, kept=kept)
    again = solve_unseen(family, FINE, 6, kept=kept)
    assert solves[:3] == [4, 2, 2]
    assert np.allclose(again.values, unseen.values, atol=1e-12)
    assert not kept.exists()
    module.write_tensors(kept, {"mu": unseen.mu[:4] + 1e-3, "u": unseen.values[:4]}, {})
    solves[:] = [0, 0]
    assert np.allclose(solve_unseen(family, FINE, 6, kept=kept).values, unseen.values, atol=1e-12)
    assert solves[2:4] == [4, 2]


def test_measured_of_a_trained_family():
    family = line_family()
    surrogate = pc.solve(family, accuracy=5e-2, iterations=40, time_limit=20, **QUICK)
    found = measure(surrogate, solve_unseen(family, FINE, 8))
    assert 0 < found["mean"] <= found["p95"] <= found["worst"] < 0.2
    assert found["within_two"] == 1
    assert found["ratio"]["low"] <= found["ratio"]["median"] <= found["ratio"]["high"]
    assert 0 < found["query_ms"] < 1000
    assert set(found["fields"]) == {"u"}


def test_newton_from_the_middle_of_the_ranges(monkeypatch):
    """Where a direct solve fails from the linear part, the way from the middle leads there."""

    def stiff(a):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: u.grad,
            source=lambda x, u: torch.exp(u.value) - a,
            boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
        )

    from pcpinn.family import direct

    family = pc.Family(stiff, a=pc.Range(1, 50))
    settings = family_settings(family, None, FINE)
    system = make_system(family, make_mesh(family.base, settings), settings, torch.device("cpu"))
    mu = torch.tensor([[40.0]], dtype=torch.float64)
    plain = direct_solutions(system, mu)
    whole, calls = direct.direct_solution, []

    def fails_at_first(form, start=None):
        calls.append(start is not None)
        if len(calls) == 1:
            raise pc.PcpinnError("no", "")
        return whole(form, start)

    monkeypatch.setattr(direct, "direct_solution", fails_at_first)
    assert np.allclose(direct_solutions(system, mu), plain, atol=1e-8)
    assert calls == [False, False, True, True]
    calls[:] = [False]
    both = torch.tensor([[40.0], [30.0], [26.0]], dtype=torch.float64)
    assert np.allclose(direct_solutions(system, both)[0], plain, atol=1e-8)
    assert calls[1:] == [False, True, True]  # from the solution for 26 to that for 30, and on
