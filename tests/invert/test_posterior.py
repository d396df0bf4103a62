"""Priors and the linearised posterior, against dense formulas."""

import numpy as np
import pytest

from pcpinn.invert.posterior import Block, Linearised, relevant
from pcpinn.invert.prior import KERNELS, SMOOTH, FieldPrior, Hyper, matern, squared_exponential


def line(count=30):
    return np.linspace(0, 1, count)[:, None]


def test_conditioning_is_that_of_the_joint_normal_distribution():
    x = line(12)
    known = np.array([0, 11])
    prior = FieldPrior("a", x, Hyper("matern", 0.3, 1.0), known=known, values=np.array([1.0, 2.0]))
    K = matern(np.abs(x - x.T) / 0.3)
    inner = prior.open
    W = K[np.ix_(inner, known)] @ np.linalg.inv(K[np.ix_(known, known)])
    shape = prior.shape(prior.start)
    np.testing.assert_allclose(shape.mean[inner], W @ [1.0, 2.0], atol=1e-6)
    C = K[np.ix_(inner, inner)] - W @ K[np.ix_(known, inner)]
    np.testing.assert_allclose((shape.factor @ shape.factor.T)[np.ix_(inner, inner)], C, atol=1e-5)
    assert not shape.factor[known].any()


@pytest.mark.parametrize(("given", "floor"), [(0.0, 2e-3 * 2.0), (0.03, 0.03)])
def test_whitening_rows_give_the_density(given, floor):
    """Of values that may deviate from the process by the floor, as root mean square over all nodes."""
    prior = FieldPrior("a", line(15), Hyper("matern", 0.2, 2.0, floor=given))
    L = prior.factor(prior.start)
    v = np.random.default_rng(0).normal(size=15)
    expected = v @ np.linalg.solve(L @ L.T + 15 * floor**2 * np.eye(15), v)
    assert np.sum((prior.whitening(prior.start) @ v) ** 2) == pytest.approx(expected, rel=1e-6)


def test_evidence_of_two_blocks_with_modes_is_that_of_dense_algebra():
    """In any order of trials: products that are remembered belong to their own hyper-parameters."""
    x, random = line(10), np.random.default_rng(2)
    modes = np.sqrt(2) * np.sin(np.pi * x * np.arange(1, 4))
    priors = [FieldPrior(n, x, Hyper("se", 0.3, 1.0), modes=modes) for n in ("a", "b")]
    J = [random.normal(size=(25, 10)) for _ in priors]
    e = random.normal(size=25)
    lin = Linearised(
        e, [Block(p, j, np.zeros((1, 10)), np.zeros(10)) for p, j in zip(priors, J, strict=True)], np.zeros(1)
    )
    trials = [
        [Hyper("se", 0.3, 1.0), Hyper("se", 0.3, 1.0)],
        [Hyper("se", 0.3, 2.0, ((1, 0.7),)), Hyper("se", 0.3, 1.0)],
        [Hyper("se", 0.3, 2.0, ((0, 0.2), (1, 0.7))), Hyper("se", 0.1, 0.5, ((2, 1.5),))],
        [Hyper("se", 0.3, 1.0), Hyper("se", 0.3, 1.0)],
    ]
    for hypers in trials:
        S = np.eye(25)
        penalty = 0.0
        for prior, j, h in zip(priors, J, hypers, strict=True):
            F = prior.factor(h)
            S = S + j @ F @ F.T @ j.T
            penalty += prior.penalty(h) + 2 * np.log(3) * len(h.modes)
        log = -0.5 * e @ np.linalg.solve(S, e) - 0.5 * np.linalg.slogdet(S)[1] - penalty
        assert lin.evidence(hypers) == pytest.approx(log, rel=1e-6)


def test_posterior_and_evidence_are_those_of_dense_algebra():
    x, random = line(20), np.random.default_rng(1)
    prior = FieldPrior("a", x, Hyper("se", 0.3, 1.5))
    J, at = random.normal(size=(40, 20)), random.normal(size=20)
    G = random.normal(size=(5, 20))
    e = random.normal(size=40)
    lin = Linearised(e, [Block(prior, J, G, at)], np.zeros(5))
    K = 1.5**2 * squared_exponential(np.abs(x - x.T) / 0.3)
    y = e + J @ at  # data of a itself
    S = J @ K @ J.T + np.eye(40)
    mean = K @ J.T @ np.linalg.solve(S, y)
    covariance = K - K @ J.T @ np.linalg.solve(S, J @ K)
    found = lin.posterior([prior.start])
    np.testing.assert_allclose(found.means[0], mean, atol=1e-3)
    np.testing.assert_allclose(found.factors[0] @ found.factors[0].T, covariance, atol=1e-3)
    np.testing.assert_allclose(found.u_mean, G @ (mean - at), atol=2e-2)
    log = -0.5 * y @ np.linalg.solve(S, y) - 0.5 * np.linalg.slogdet(S)[1]
    assert lin.evidence([prior.start]) == pytest.approx(log, abs=0.05)


def test_evidence_finds_the_scale_and_length_of_a_sample():
    x = line(60)
    K = 0.5**2 * squared_exponential(np.abs(x - x.T) / 0.15)
    random = np.random.default_rng(3)
    a = np.linalg.cholesky(K + 1e-10 * np.eye(60)) @ random.normal(size=60)
    prior = FieldPrior("a", x, Hyper("se", 0.5, 2.0))
    noise = 0.02
    lin = Linearised(
        (a + noise * random.normal(size=60)) / noise,
        [Block(prior, np.eye(60) / noise, np.eye(60), np.zeros(60))],
        np.zeros(60),
    )
    (hyper,) = lin.choose([prior.start])
    assert 0.1 < hyper.length < 0.25
    assert 0.2 < hyper.scale < 1.2
    posterior = lin.posterior([hyper])
    assert np.sqrt(np.mean((posterior.means[0] - a) ** 2)) < noise


@pytest.mark.parametrize("kernel", SMOOTH)
def test_evidence_finds_the_kernel_of_a_sample(kernel):
    """Whichever the search begins with; the answer has at least the evidence of either kernel alone."""
    x = line(60)
    K = KERNELS[kernel](np.abs(x - x.T) / 0.2) + 1e-10 * np.eye(60)
    sample = np.linalg.cholesky(K) @ np.random.default_rng(4).normal(size=60)
    J, G = np.eye(60) / 1e-3, np.zeros((1, 60))
    found = {}
    for first in SMOOTH:
        for kernels in (tuple(SMOOTH), (first,)):
            prior = FieldPrior("a", x, Hyper(first, 0.25, 1.0), kernels=kernels)
            linearised = Linearised(J @ sample, [Block(prior, J, G, np.zeros(60))], np.zeros(1))
            (chosen,) = linearised.choose([prior.start])
            found[first, kernels] = chosen.kernel, linearised.evidence([chosen])
    for first in SMOOTH:
        assert found[first, tuple(SMOOTH)][0] == kernel
        assert found[first, (first,)][0] == first
        alone = [found[k, (k,)][1] for k in SMOOTH]
        assert found[first, tuple(SMOOTH)][1] >= max(alone) - 1.0  # searches end within steps of length and scale


def test_columns_that_others_span_get_no_variance():
    """With next to no noise numbers are huge, and differences of them are rounding."""
    random = np.random.default_rng(0)
    background = 1e6 * random.normal(size=(200, 12))
    B = np.concatenate(
        [background, background @ random.normal(size=(12, 6)), 1e6 * random.normal(size=(200, 2))], axis=1
    )
    y = B[:, -1] + random.normal(size=200)
    with np.errstate(all="raise"):
        active = relevant(B.T @ B, B.T @ y, 12, np.full(8, np.log(8)), {0: 1.0})
    assert set(active) == {7}
    assert active[7] == pytest.approx(1.0, rel=1e-3)


def test_only_modes_that_matter_get_a_variance():
    random = np.random.default_rng(0)
    B = random.normal(size=(300, 25))
    y = 0.8 * B[:, 7] - 0.5 * B[:, 19] + random.normal(size=300)
    active = relevant(B.T @ B, B.T @ y, 0, np.full(25, np.log(25)), {})
    assert sorted(active) == [7, 19]
    assert active[7] == pytest.approx(0.64, rel=0.4)
    again = relevant(B.T @ B, B.T @ y, 0, np.full(25, np.log(25)), {3: 1.0, **active})
    assert sorted(again) == [7, 19]  # one that does not is taken out
