"""Constants that functions of a problem make."""

import torch

from pcpinn.discretize.constants import ConstantsLike

DOUBLE, SINGLE = (torch.zeros(2, dtype=dtype) for dtype in (torch.float64, torch.float32))


def test_constants_have_the_precision_of_x_to_the_last_digit():
    with ConstantsLike(DOUBLE):
        made = [torch.tensor([0.1]), torch.full((1,), 0.1), torch.as_tensor([0.1]), torch.scalar_tensor(0.1)]
        assert torch.get_default_dtype() == torch.float32  # of all threads, some of which train in single precision
        assert torch.linspace(0, 1, 11).dtype == torch.eye(2).dtype == torch.float64
    assert all(m.dtype == torch.float64 and float(m.sum()) == 0.1 for m in made)
    with ConstantsLike(SINGLE):
        assert torch.eye(2).dtype == torch.float32


def test_what_has_a_type_of_its_own_keeps_it():
    with ConstantsLike(DOUBLE):
        assert torch.arange(3).dtype == torch.tensor([1, 2]).dtype == torch.int64
        assert torch.ones(2, dtype=torch.float32).dtype == torch.float32
        assert torch.tensor([True]).dtype == torch.bool
        assert torch.as_tensor(SINGLE) is SINGLE
    assert torch.tensor(0.1).dtype == torch.float32


def test_inside_transforms():
    with ConstantsLike(DOUBLE):
        J = torch.vmap(torch.func.jacfwd(lambda v: v[0] * torch.eye(2)))(torch.rand(5, 2, dtype=torch.float64))
    assert J.dtype == torch.float64
    assert torch.equal(J[0, :, :, 0], torch.eye(2, dtype=torch.float64))
