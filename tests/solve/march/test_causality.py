"""Causal weights in a march: whom they weigh, and that training heeds them."""

import numpy as np
import pytest
import torch

from pcpinn import Dirichlet, Initial, Interval, Problem, Reference, solve
from pcpinn.solve.march.causality import causal_residual


class Window:
    """A residual of four layers with three unknowns each: u - 1."""

    weights, target_norm = np.linspace(1, 2, 12), 2.0

    def __call__(self, u):
        return u - 1

    def reweighted(self, weights):
        return weights.reshape(4, 3)


def test_stages_of_a_step_count_the_same():
    """They depend on each other in both directions: only steps come one after the other."""
    U = torch.ones(4, 3, dtype=torch.float64)
    U[1, 0] += 2.0
    plain = Window.weights.reshape(4, 3)
    single = causal_residual(Window(), U, 1.0, 1) / plain
    np.testing.assert_allclose(single, np.repeat(single[:, :1], 3, axis=1))
    assert single[0, 0] == single[1, 0] == pytest.approx(np.e * single[2, 0])  # the loss before the third is (2 / 2)^2
    assert single.mean() == pytest.approx(1.0)
    double = causal_residual(Window(), U, 1.0, 2)[:, 0] / plain[:, 0]
    assert double[0] == double[1] == pytest.approx(np.e * double[2])
    assert double[2] == double[3]


def growing():
    """u_t = 0.05 u_xx + 3 u: steps depend much on those before."""
    return Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.05 * u.grad,
        source=lambda x, u: -3 * u.value,
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(torch.pi * x[0])),
        },
    )


def errors_over_time(causality):
    """Against the discrete march, at the ends of six steps that are trained together, but not to the end."""
    x = np.stack(np.meshgrid(np.linspace(0, 1, 9), np.arange(1, 7) / 6, indexing="ij"), -1).reshape(-1, 2)
    reference = Reference(x, np.sin(np.pi * x[:, 0]) * np.exp((3 - 0.05 * np.pi**2) * x[:, 1]))
    settings = {
        "cells": (6,), "degree": 3, "time": "march", "scheme": "euler", "steps": 6, "window": 6, "width": 8, "depth": 1,
        "features": "none", "optimiser": "adam", "learning_rate": 3e-3, "iterations": 100, "start_iterations": 1000,
        "head_steps": 0, "newton_iterations": 1, "device": "cpu", "causality": causality,
    }  # fmt: skip
    rows = solve(growing(), settings, reference=reference).result["march"]["errors_by_time"]
    return np.array([row["training"] for row in rows])


def test_training_solves_early_steps_first():
    """With the same iterations: early steps become better than without causality, the last ones have to wait."""
    plain, causal = errors_over_time(0.0), errors_over_time(1e4)
    assert (causal[:2] < 0.7 * plain[:2]).all()
    assert causal[-1] > plain[-1]
