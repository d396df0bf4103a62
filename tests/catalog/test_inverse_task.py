"""The inverse benchmarks: data, truth and right-hand sides fit each other."""

import numpy as np
import pytest
import torch

from pcpinn.catalog import INVERSE
from pcpinn.discretize.probe import probe
from pcpinn.invert.setup import make_equations
from pcpinn.solve.build import make_mesh


@pytest.mark.parametrize("name", sorted(INVERSE.names()))
def test_the_truth_solves_the_equations(name):
    entry = INVERSE.find(name)
    parameters, settings = entry.resolve("default", {"known_u": 1})
    family = entry.family(**parameters)
    equations = make_equations(family, make_mesh(family.base, settings), settings)
    (unknown,) = family.unknowns.values()
    known = next(iter(unknown.known.values()))
    x = torch.from_numpy(equations.coefficient_nodes)
    c = torch.func.vmap(known)(x).numpy()[:, None]
    from pcpinn.discretize.linear_solves import Factors

    tangent = equations.linearise(np.zeros(equations.size), c)
    u = -Factors(tangent.A).apply(tangent.residual)
    truth = entry.truth(**parameters)
    found = probe(equations.discretisation, truth.points, 0) @ u
    assert np.linalg.norm(found - truth.u[:, 0]) < 2e-3 * np.linalg.norm(truth.u)
    np.testing.assert_allclose(
        torch.func.vmap(known)(torch.from_numpy(truth.points[:, :2])).numpy(), truth.coefficients["a"]
    )


@pytest.mark.parametrize("name", sorted(INVERSE.names()))
def test_data_are_the_truth_and_seeded_noise(name):
    entry = INVERSE.find(name)
    first, again, other = (entry.data(seed, noise=0.1, points=2500) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.values, again.values)
    assert not np.array_equal(first.values, other.values)
    assert len(first) == 2500
    exact = entry.data(0, noise=0.0, points=2500)
    assert np.std(first.values - exact.values) == pytest.approx(0.1, rel=0.05)
    assert set(entry.presets) == {"quick", "default", "paper"}
