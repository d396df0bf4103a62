"""Radau IIA: order five, damping of stiff parts, steps of changing length."""

import numpy as np
import pytest
import scipy.sparse as sp

from pcpinn.catalog.makers.radau import radau


def last(M, K, load, u, times):
    *_, end = radau(sp.csr_matrix(M), sp.csr_matrix(K), load, np.array(u, dtype=float), times)
    return end


# u' + u = cos t + sin t + [0, 2 e^t]: u = (sin t, e^t), mixed by M
M = np.array([[2.0, 1.0], [1.0, 3.0]])


def load(t):
    return M @ np.array([np.cos(t) + np.sin(t), 2 * np.exp(t)])


def error(times):
    return np.abs(last(M, M, load, [0, 1], times) - [np.sin(2), np.exp(2)]).max()


def test_order_five():
    assert error(np.linspace(0, 2, 5)) == pytest.approx(32 * error(np.linspace(0, 2, 9)), rel=0.15)
    assert error(np.linspace(0, 2, 33)) < 2e-9


def test_steps_of_changing_length():
    assert error(np.concatenate([np.linspace(0, 0.5, 17), np.linspace(0.6, 2, 29)])) < 1e-8


def test_stiff_parts_die_out_at_once():
    K = np.diag([1.0, 1e8])
    u = last(np.eye(2), K, lambda t: np.zeros(2), [1, 1], np.linspace(0, 1, 4))
    assert u[0] == pytest.approx(np.exp(-1), rel=1e-5)
    assert abs(u[1]) < 1e-15
