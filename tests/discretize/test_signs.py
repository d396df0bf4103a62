"""Diffusion of doubtful sign is told before a solve, and blamed where that comes to nothing."""

import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.signs import doubtful

SQUARE = pc.Rectangle((0, 0), (1, 1), name="walls")


def plate(flux):
    return pc.Problem(SQUARE, flux, lambda x, u: -1.0, {"walls": pc.Dirichlet(0.0)})


@pytest.mark.parametrize(
    ("flux", "kind"),
    [
        (lambda x, u: torch.stack([u.grad[0], -u.grad[1]]), "hyperbolic"),
        (lambda x, u: (x[0] - 0.5) * u.grad, "mixed"),
    ],
)
def test_doubts(flux, kind):
    assert doubtful(plate(flux)).kind == kind


def test_a_part_of_the_domain_in_which_heat_flows_backwards():
    ends = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(1.0)}
    rod = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: (x[0] - 0.3) * u.grad,
        boundary=ends,
    )
    found = doubtful(rod)
    assert found.kind == "grows"
    assert 0 < found.part < 1


@pytest.mark.parametrize("flux", [lambda x, u: u.grad, lambda x, u: -u.grad, lambda x, u: (1 + u.value**2) * u.grad])
def test_no_doubts(flux):
    assert doubtful(plate(flux)) is None


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
def test_it_is_blamed():
    solution = pc.solve(plate(lambda x, u: (x[0] - 0.5) * u.grad), accuracy=1e-3, time_limit=4, device="cpu")
    assert not solution.verdict.reached
    assert solution.verdict.limited_by == "ill-posedness"
    assert "is negative at" in solution.verdict.advice
