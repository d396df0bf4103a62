"""A team of one: nothing to exchange, or the same by way of torch.distributed; several are in solve/test_shared.py."""

import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

from pcpinn.team import ALONE, present_team


@pytest.fixture
def group_of_one():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield present_team()
    dist.destroy_process_group()


def test_without_a_group_a_process_is_on_its_own():
    assert present_team() is ALONE
    assert ALONE.first
    assert (ALONE.rank, ALONE.size) == (0, 1)


@pytest.mark.parametrize("shape", [(), (7,), (3, 5)])
def test_what_a_group_of_one_has_is_what_it_gets(group_of_one, shape):
    team, x = group_of_one, torch.randn(shape, dtype=torch.float64)
    assert not team.alone
    assert torch.equal(team.sum(x), x)
    assert torch.equal(team.lead(x), x)
    if shape:
        assert torch.equal(team.gather(x, [len(x)]), x)
        assert torch.equal(team.swap(x, [len(x)], [len(x)]), x)
    assert team.number(2.5) == team.lead_number(2.5) == 2.5
    assert team.lead_object({"a": 1}) == {"a": 1}
    assert team.any(True)
    assert not team.any(False)
    assert team.facts({"a": "b"}) == [{"a": "b"}]


def test_gradients_go_through_sums(group_of_one):
    theta = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    loss = group_of_one.total((group_of_one.shared(theta) ** 2).sum())
    (gradient,) = torch.autograd.grad(loss, theta)
    assert loss.item() == 5.0
    assert gradient.tolist() == [2.0, 4.0]


def test_the_group_is_asked_anew(group_of_one):
    assert present_team() is group_of_one
    dist.destroy_process_group()
    assert present_team() is ALONE
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    assert present_team() is not ALONE


def test_a_member_ends_with_its_code_and_its_words_and_without_winding_up():
    """What threads of a group may do while Python winds up, ending the process by SIGABRT, cannot happen."""
    program = "import atexit, os; from pcpinn.team import end_member; "
    program += "atexit.register(os.abort); print('said', end=''); end_member(3)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, "said")
