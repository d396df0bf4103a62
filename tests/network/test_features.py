"""Frequencies of the Fourier features."""

import pytest
import torch

from pcpinn.network import Features


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_none():
    assert Features("none").frequencies(3, generator()).shape == (3, 0)


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_log_frequencies_are_powers_of_two_along_each_axis(inputs):
    B = Features("log", count=5, low=-2, high=2).frequencies(inputs, generator())
    assert B.shape == (inputs, 5 * inputs)
    expected = 2 * torch.pi * torch.tensor([0.25, 0.5, 1.0, 2.0, 4.0], dtype=torch.float64)
    for k in range(inputs):
        torch.testing.assert_close(B[k, 5 * k : 5 * k + 5], expected)
    assert torch.count_nonzero(B) == 5 * inputs


def test_a_single_log_frequency_is_the_lowest():
    assert Features("log", count=1, low=1, high=3).frequencies(1, generator()).item() == pytest.approx(4 * torch.pi)


@pytest.mark.parametrize("std", [0.5, 3.0])
def test_gaussian_frequencies(std):
    B = Features("gaussian", count=20_000, std=std).frequencies(2, generator())
    assert B.shape == (2, 20_000)
    assert float(B.std()) == pytest.approx(std, rel=0.02)
    assert float(B.mean()) == pytest.approx(0, abs=0.02 * std)
    assert abs(float((B[0] * B[1]).mean())) < 0.03 * std**2
    assert float((B.abs() < std).double().mean()) == pytest.approx(0.6827, abs=0.01)
