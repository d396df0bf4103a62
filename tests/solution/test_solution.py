"""The answer as a function: NumPy and torch, fields, derivatives, shapes."""

import numpy as np
import pytest
import torch
from small import quick, two_fields, vector

from pcpinn import Reference
from pcpinn.errors import PcpinnError


@pytest.fixture(scope="module")
def scalar():
    return quick()


@pytest.fixture(scope="module")
def several():
    return quick(two_fields())


@pytest.fixture(scope="module")
def plane_vector():
    return quick(vector(), cells=(3, 3))


X = np.array([[0.1], [0.45], [0.9]])


def test_numpy_lists_and_torch_agree(scalar):
    a = scalar(X)
    assert isinstance(a, np.ndarray)
    assert a.shape == (3,)
    assert a.dtype == np.float64
    np.testing.assert_array_equal(scalar(X.tolist()), a)
    b = scalar(torch.from_numpy(X))
    assert isinstance(b, torch.Tensor)
    np.testing.assert_array_equal(b.detach(), a)
    np.testing.assert_array_equal(a, scalar.network(torch.from_numpy(X)).detach().numpy()[:, 0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torch_keeps_the_type_of_its_points(scalar, dtype):
    assert scalar(torch.tensor(X, dtype=dtype)).dtype == dtype


def test_fields_and_components(several, plane_vector):
    assert several.names == ("p", "q")
    assert several(X).shape == (3, 2)
    np.testing.assert_array_equal(several(X, field="q"), several(X)[:, 1])
    points = np.array([[0.2, 0.3], [0.5, 0.5]])
    assert plane_vector.names == ("v1", "v2")
    assert plane_vector(points).shape == (2, 2)
    np.testing.assert_array_equal(plane_vector(points, field="v"), plane_vector(points))
    with pytest.raises(PcpinnError, match="no field 'w'") as caught:
        several(X, field="w")
    assert "p, q" in caught.value.remedy


def test_gradient_against_finite_differences(scalar, plane_vector):
    x = torch.tensor(X, requires_grad=True)
    (gradient,) = torch.autograd.grad(scalar(x).sum(), x)
    step = 1e-5
    np.testing.assert_allclose(gradient[:, 0], (scalar(X + step) - scalar(X - step)) / (2 * step), rtol=1e-7, atol=1e-8)
    assert torch.autograd.gradcheck(plane_vector, (torch.rand(3, 2, dtype=torch.float64, requires_grad=True),))


def test_second_derivatives(scalar):
    x = torch.tensor(X, requires_grad=True)
    (first,) = torch.autograd.grad(scalar(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    step = 1e-4
    numeric = (scalar(X + step) - 2 * scalar(X) + scalar(X - step)) / step**2
    np.testing.assert_allclose(second[:, 0], numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "points", [[0.1, 0.2], 0.5, [[0.1, 0.2]], np.zeros((2, 3)), None, torch.zeros(3), np.zeros((1, 1, 1))]
)
def test_wrong_shapes_are_refused(scalar, points):
    with pytest.raises(PcpinnError, match=r"points have shape .*, expected \(n, 1\)") as caught:
        scalar(points)
    assert caught.value.remedy


@pytest.mark.parametrize("points", [[[0.1], [0.2, 0.3]], "here", [["a"]]])
def test_points_that_are_no_numbers_are_refused(scalar, points):
    with pytest.raises(PcpinnError):
        scalar(points)


def test_whole_numbers_as_torch_points(scalar):
    np.testing.assert_allclose(scalar(torch.tensor([[0], [1]])).detach(), scalar([[0.0], [1.0]]), rtol=1e-6)


def test_no_points(scalar):
    assert scalar(np.zeros((0, 1))).shape == (0,)


def test_metrics_against_another_reference(several):
    values = several(X)
    reference = Reference(X, values[:, 1:] + 0.5, components=(1,))
    found = several.metrics(reference)
    assert found["max"] == pytest.approx(0.5)
    assert list(found["field"]) == ["q"]
    assert several.errors is several.result["errors"]
