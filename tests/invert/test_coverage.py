"""Answers that say how wrong they may be: the discrete answer and its posterior, for small problems with known truths."""

import numpy as np
import pytest
import torch
from cases import chosen
from rods import ENDS, SMALL

import pcpinn as pc
from pcpinn.invert.inference import Inference
from pcpinn.problem.family import Family

POINTS = np.linspace(0.01, 0.99, 60)
TRUTHS = {
    "smooth": lambda x: 1 + 0.5 * np.sin(2 * np.pi * x),
    "bump": lambda x: 0.8 * np.exp(-(((x - 0.35) / 0.12) ** 2)),
    "jump": lambda x: np.where(x > 0.45, 1.0, 0.0),
    "near zero": lambda x: 0.01 * np.sin(3 * x),
}


def heated(f):
    """-u'' = f."""
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -f(x), boundary=ENDS)


def conducting(a):
    """-(a u')' = 1, without flux at the right: a u' = 1 - x."""
    sides = {"left": pc.Dirichlet(0.0), "right": pc.Neumann(0.0)}
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: a(x) * u.grad, source=lambda x, u: -1.0, boundary=sides)


def twice_integrated(f, x):
    """-u'' = f, u = 0 at both ends."""
    grid = np.linspace(0, 1, 5001)
    middle = (grid[1:] + grid[:-1]) / 2
    slope = np.r_[0, np.cumsum(f(middle)) * grid[1]]
    fall = np.r_[0, np.cumsum((slope[1:] + slope[:-1]) / 2) * grid[1]]
    return np.interp(x, grid, grid * fall[-1] - fall)


def discrete_answer(problem, unknown, data, cells=14):
    """Nodes, values of the coefficient there, standard deviations, the run."""
    family = Family(problem, {"f" if problem is heated else "a": unknown})
    run = Inference(family, (data,), chosen(method="infer", **{**SMALL, "cells": (cells,), "degree": 2}))
    run._prepare(None)
    std = np.linalg.norm(run.choice.posterior.factors[0], axis=1)
    return run.equations.coefficient_nodes[:, 0], run.choice.c[:, 0], std, run


def heated_data(kind, seed, initial=0.0, points=POINTS):
    u = twice_integrated(TRUTHS[kind], points)
    noise = 0.02 * np.abs(twice_integrated(TRUTHS["bump"], points) if kind == "near zero" else u).max()
    return pc.Observations(points[:, None], u + noise * np.random.default_rng(seed).normal(size=len(points)), noise)


def test_truths_of_four_kinds_are_covered_as_often_as_standard_deviations_say():
    """All nodes of four sets of noise for each kind; benchmarks/inverse_coverage.py has forty, with networks."""
    inside = {}
    for kind, truth in TRUTHS.items():
        z = []
        for seed in range(4):
            x, found, std, _ = discrete_answer(heated, pc.Coefficient(initial=0.0), heated_data(kind, seed))
            z.append(np.abs(found - truth(x)) / std)
        inside[kind] = [float(np.mean(np.concatenate(z) < k)) for k in (1, 2)]
    one, two = np.mean(list(inside.values()), axis=0)
    assert 0.55 < one < 0.87
    assert 0.85 < two <= 0.995
    assert min(pair[1] for pair in inside.values()) > 0.7, inside


@pytest.mark.parametrize("initial", [0.0, 1.0, -30.0])
def test_the_first_guess_says_nothing_of_the_scale(initial):
    x, found, std, run = discrete_answer(heated, pc.Coefficient(initial=initial), heated_data("bump", 0))
    truth = TRUTHS["bump"](x)
    assert np.sqrt(np.mean((found - truth) ** 2)) < 0.35 * np.sqrt(np.mean(truth**2))
    assert np.mean(np.abs(found - truth) < 2 * std) > 0.85
    assert run.choice.noise_factor == 1.0


def test_where_data_say_little_the_standard_deviation_says_so():
    """Slopes are observed on the left alone, and f = -(u')' next to them; of the right they know one sum."""
    truth = TRUTHS["smooth"]
    x = np.linspace(0.0, 0.5, 60)
    steep = (twice_integrated(truth, x + 1e-3) - twice_integrated(truth, np.abs(x - 1e-3))) / 2e-3
    steep[0] = 2 * steep[1] - steep[2]
    values = steep + 0.003 * np.random.default_rng(0).normal(size=60)
    data = pc.Observations(x[:, None], values, 0.003, observable=lambda x, u: u.grad[0])
    nodes, found, std, _ = discrete_answer(heated, pc.Coefficient(initial=0.0), data)
    left, right = nodes < 0.45, nodes > 0.75
    assert std[right].mean() > 4 * std[left].mean()
    assert np.mean(np.abs(found - truth(nodes)) < 2 * std) > 0.85


def test_a_narrow_bump_of_a_conductivity_is_found_within_its_standard_deviation():
    """A process of the same scale everywhere shrinks it, and is sure of that."""
    a = lambda x: 1 + 1.5 * np.exp(-(((x - 0.4) / 0.08) ** 2))  # noqa: E731
    grid = np.linspace(0, 1, 20_001)
    middle = (grid[1:] + grid[:-1]) / 2
    u = np.r_[0, np.cumsum((1 - middle) / a(middle)) * grid[1]]
    x = np.linspace(0.01, 0.99, 200)
    noise = 0.02 * u.max()
    values = np.interp(x, grid, u) + noise * np.random.default_rng(0).normal(size=200)
    data = pc.Observations(x[:, None], values, noise)
    nodes, found, std, _ = discrete_answer(conducting, pc.Coefficient(initial=1.0, low=0.05), data, 24)
    peak = int(np.abs(nodes - 0.4).argmin())
    assert abs(found[peak] - a(nodes[peak])) < 2.5 * std[peak]
    inner = nodes < 0.85  # no flux beyond: nothing is known there
    assert np.mean(np.abs(found - a(nodes))[inner] < 2 * std[inner]) > 0.8
    assert np.abs(found - a(nodes))[~inner].max() < 3 * std[~inner].max()


def cooling(k):
    """u_t = k u_xx from a sine."""
    start = pc.Initial(lambda x: torch.sin(torch.pi * x[0]))
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: k * u.grad,
        boundary={**ENDS, "initial": start},
    )


@pytest.mark.parametrize(("order", "coarse"), [(1, True), (3, False)])
def test_deviations_know_of_the_mesh(order, coarse):
    """Six slabs with one time level each are far off; with three levels each, the noise is all there is."""
    random, k, noise = np.random.default_rng(0), 0.3, 1e-3
    x = random.uniform(0.02, 0.98, (200, 2))
    u = np.sin(np.pi * x[:, 0]) * np.exp(-k * np.pi**2 * x[:, 1]) + noise * random.normal(size=200)
    family = Family(cooling, {"k": pc.Parameter(0.5, low=0.01)})
    settings = {**SMALL, "cells": (8,), "degree": 3, "time": "slabs", "steps": 6, "order": order}
    run = Inference(family, (pc.Observations(x, u, noise),), chosen(True, "infer", **settings))
    run._prepare(None)
    found, (moved,) = float(run.choice.c[0, 0]), run.choice.moves
    std = float(np.linalg.norm(run.choice.posterior.factors[0]))
    assert abs(found - k) < 3 * std
    assert (moved > 10) == coarse
    assert coarse or (moved < 0.5 and std < 2e-4)
