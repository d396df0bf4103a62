"""Tables of the host in recorded work; the meta device stands for a GPU where only the copies matter."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pcpinn.train.host_tables import HostTables


class Copies(TorchDispatchMode):
    """Counts copies from the host to elsewhere that are really made."""

    def __init__(self):
        super().__init__()
        self.made = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and isinstance(args[0], torch.Tensor):
            self.made += (args[0].device.type, found.device.type) == ("cpu", "meta")
        return found


@pytest.mark.parametrize("shape", [(5, 5), (), (0,)])
def test_a_table_is_copied_once(shape):
    table = torch.ones(shape, dtype=torch.float64)
    with Copies() as copies, HostTables() as tables:
        for _ in range(3):
            found = table.to(torch.empty(1, device="meta"))
            assert (found.device.type, found.dtype, found.shape) == ("meta", torch.float32, table.shape)
    assert copies.made == 1
    with Copies() as copies, tables:
        table.to("meta", torch.float32)
        (table + 1).to("meta", torch.float32)
    assert copies.made == (1 if table.numel() else 0)


def test_inside_the_transforms_that_evaluate_functions_of_a_problem():
    table = torch.arange(4.0)
    x = torch.rand(7, 1, device="meta")

    def one(point):
        return (table.to(point)[:1] * point).sum() + (
            2 + torch.sin(point[0])
        )  # the 2 comes as a number, not as a tensor

    with Copies() as copies, HostTables():
        for _ in range(2):
            torch.vmap(torch.func.jacfwd(one))(x)
    assert copies.made == 1


def test_the_host_keeps_its_own_tables():
    table = torch.ones(3)
    with HostTables():
        moved = table.to(torch.float64)
        moved += 1
        assert torch.equal(table.to(torch.float64), torch.ones(3, dtype=torch.float64))
