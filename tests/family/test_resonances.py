"""Parameters at which a family is singular are found between those that one would look at."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import pcpinn as pc
from pcpinn.family.discretise import make_system
from pcpinn.family.resonances import negative, refuse_resonances
from pcpinn.family.run import family_settings
from pcpinn.solve.build import make_mesh

ENDS = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}


def helmholtz(k, wind=0.0):
    """-u'' + wind u' - k^2 u = 1: singular at k^2 = (n pi)^2 + wind^2 / 4."""
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: wind * u.grad[0] - k**2 * u.value - 1.0,
        boundary=ENDS,
    )


def jumping(a):
    """Negative eigenvalues by a jump of the reaction from 0 to -30: no matrix on the way is singular."""
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: torch.where(a > 0.3, -30.0, 0.0) * u.value,
        boundary=ENDS,
    )


def message(family):
    with pytest.raises(pc.PcpinnError) as error:
        pc.solve(family, accuracy=1e-1, cells=(8,), device="cpu")
    return error.value.problem


def test_all_of_one_parameter_are_named():
    found = message(pc.Family(helmholtz, k=pc.Range(1.0, 8.0)))
    assert "k=3.141" in found
    assert "k=6.28" in found


def test_of_a_matrix_that_is_not_symmetric():
    family = pc.Family(lambda k, w: helmholtz(k, w), k=pc.Range(1.0, 5.0), w=pc.Range(2.0, 3.0))
    assert f"k={np.hypot(np.pi, 1.25):.2f}" in message(family)  # in the middle of the other range


def test_between_resonances_and_without_any():
    pc.solve(pc.Family(helmholtz, k=pc.Range(3.5, 5.5)), accuracy=5e-2, cells=(8,), device="cpu")


def test_a_jump_is_none():
    family = pc.Family(jumping, a=pc.Range(0.0, 1.0))
    settings = family_settings(family, None, {"cells": (8,)})
    refuse_resonances(make_system(family, make_mesh(family.base, settings), settings, torch.device("cpu")))


def test_numbers_of_negative_eigenvalues():
    random = np.random.default_rng(0)
    for n in (5, 8, 13):
        A = random.normal(size=(n, n))
        both = A + A.T
        values = np.linalg.eigvalsh(both)
        assert negative(sp.csr_matrix(both), symmetric=True) in (int((values < 0).sum()), int((values < 0).sum()) % 2)
        assert negative(sp.csr_matrix(A), symmetric=False) == (np.linalg.det(A) < 0)
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(30, 30), format="csr")
    for shift in (0.0, 0.5, 1.7, 3.9):
        shifted = line - shift * sp.eye(30, format="csr")
        assert negative(shifted, symmetric=True) == int((np.linalg.eigvalsh(shifted.toarray()) < 0).sum())
