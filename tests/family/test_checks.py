"""Families that make no sense are refused before time is spent, with the parameter named."""

import pytest
import torch

import pcpinn as pc
from pcpinn.family.checks import check_memory

SQUARE = pc.Rectangle((0, 0), (1, 1))
WALLS = {n: pc.Dirichlet(0.0) for n in ("left", "right", "bottom", "top")}


def poisson(**changes):
    return pc.Problem(
        **{"domain": SQUARE, "flux": lambda x, u: u.grad, "source": lambda x, u: -1.0, "boundary": WALLS} | changes
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda a: poisson(flux=lambda x, u: a * u.grad), "at a=-1 the diffusion is negative"),
        (lambda a: poisson(source=lambda x, u: torch.log(a + 0.5) * u.value), "at a=-1 the problem is ill-posed"),
        (lambda a: poisson(domain=pc.Rectangle((0, 0), (2 + float(a), 1))), "at a=-1 the domain is another one"),
        (
            lambda a: poisson(boundary={**WALLS, "right": pc.Dirichlet(0.0) if a < 1.5 else pc.Neumann(0.0)}),
            "at a=2 the conditions are others",
        ),
        (
            lambda a: poisson(
                source=lambda x, u: torch.cos(torch.pi * x[0]),
                boundary=dict.fromkeys(WALLS, pc.Neumann(0.0)),
                pins=[pc.Pin((0.5, 0.5), float(a))],
            ),
            "the pins are others",
        ),
        (lambda a: pc.mapped(poisson(), lambda X: torch.stack([X[0] * a, X[1]])), "at a=-1 the map folds"),
    ],
)
def test_refused(make, words):
    with pytest.raises(pc.PcpinnError) as error:
        pc.solve(pc.Family(make, a=pc.Range(-1, 2)), size=0.5)
    assert words in error.value.problem
    assert error.value.remedy


def test_too_much_for_the_memory():
    family = pc.Family(lambda c: poisson(), c=pc.Range(0, 1, count=5000))
    with pytest.raises(pc.PcpinnError, match="5000 parameters need"):
        check_memory(family, 96, 10_000, 100_000, 8, 10_000, 4.0)
    check_memory(family, 4, 100, 1000, 8, 1000, 4.0)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"adaptive": 2}, "adaptive"),
        ({"certify": False}, "certify has no effect"),
        ({"newton_iterations": 3}, "newton_iterations"),
        ({"optimiser": "gauss-newton", "iterations": 0}, "iterations=0"),
        ({"network": "trunk-branch", "branch_depth": 0, "branch_width": 8}, "branch_width=8"),
        ({"network": "mlp", "branch_width": 8}, "branch_width"),
        ({"reference": pc.Reference([[0.5, 0.5]], [[1.0]])}, "reference= is for single problems"),
    ],
)
def test_settings_that_are_not_read_are_refused(choices, words):
    with pytest.raises(pc.PcpinnError, match=words):
        pc.solve(pc.Family(lambda a: poisson(source=lambda x, u: -a), a=pc.Range(1, 2)), size=0.5, **choices)


def test_families_do_not_march():
    def make(k):
        sides = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(lambda x: 1.0)}
        domain = pc.Interval(0, 1).over(0, 1)
        return pc.Problem(domain, density=lambda x, u: u.value, flux=lambda x, u: k * u.grad, boundary=sides)

    with pytest.raises(pc.PcpinnError, match="all times at once") as refused:
        pc.solve(pc.Family(make, k=pc.Range(1, 2)), time="march", size=0.5)
    assert "slabs" in refused.value.remedy


def test_a_single_problem_has_no_branch():
    with pytest.raises(pc.PcpinnError, match="for families"):
        pc.solve(poisson(), network="trunk-branch", size=0.5)
