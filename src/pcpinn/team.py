"""The processes that work on one problem together, each on its own rows: sums, exchanges, agreement.

A process on its own is a team of one, for which all of this is the identity: there is one code for one process and for many.
Every member makes the same calls in the same order. Sums are formed in the order of the members, so that they are the same
number, to the last bit, on all of them and in every repetition.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor


class Team:
    """A process on its own.

    Attributes:
        rank: number of this member; the first, 0, is the one that writes.
        size: how many there are.
        alone: whether nothing has to be exchanged at all; a group of one process exchanges with itself, as a test of the way.
        sent, calls: bytes that this member has sent to others so far, and in how many exchanges.
    """

    rank, size = 0, 1
    sent, calls = 0, 0
    alone = True

    @property
    def first(self) -> bool:
        """Whether this member is the one that writes files and messages."""
        return self.rank == 0

    def sum(self, x: Tensor) -> Tensor:
        """The sum of a tensor over the members, in their order; the same bits on all of them."""
        return x

    def swap(self, x: Tensor, send: Sequence[int], receive: Sequence[int]) -> Tensor:
        """Send the first send[0] rows of x to member 0, the next send[1] to member 1, ...; what comes, in that order."""
        return x

    def gather(self, x: Tensor, counts: Sequence[int]) -> Tensor:
        """The rows of all members, in their order; member k has counts[k] of them."""
        return x

    def lead(self, x: Tensor) -> Tensor:
        """What the first member has; it must have the same shape and type everywhere."""
        return x

    def lead_object(self, value: Any) -> Any:
        """The same of any object (a mesh, a name)."""
        return value

    def lead_number(self, value: float) -> float:
        """The same of a number, such as a time: clocks differ, and decisions must not."""
        return value if self.alone else float(self.lead(torch.tensor([value], dtype=torch.float64))[0])

    def any(self, asked: bool) -> bool:
        """Whether it is so on any member."""
        return asked

    def facts(self, own: dict[str, str]) -> list[dict[str, str]]:
        """What each member says of itself."""
        return [own]

    def number(self, value: float) -> float:
        """A number summed over the members."""
        return value if self.alone else float(self.sum(torch.tensor([value], dtype=torch.float64))[0])

    def shared(self, theta: Tensor) -> Tensor:
        """theta, whose gradient is summed over the members."""
        return theta

    def total(self, x: Tensor) -> Tensor:
        """The sum of x over the members, differentiable: each takes the derivative by its own part."""
        return x


ALONE = Team()


class Processes(Team):
    """The members of a process group of torch.distributed: gloo for tensors on the host, nccl on GPUs."""

    alone = False

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.sent, self.calls = 0, 0

    def _count(self, bytes_sent: int) -> None:
        self.sent, self.calls = self.sent + bytes_sent, self.calls + 1

    def sum(self, x: Tensor) -> Tensor:
        """Each member adds up its piece in the order of members and hands it round: as much traffic as a ring has."""
        flat = x.detach().contiguous().reshape(-1)
        piece = -(-flat.numel() // self.size)
        padded = flat.new_zeros(self.size, piece)
        padded.view(-1)[: flat.numel()] = flat
        received = torch.empty_like(padded)
        dist.all_to_all_single(received, padded)
        self._count((self.size - 1) * piece * x.element_size())
        own = received[0].clone()
        for other in received[1:]:
            own += other
        result = self.gather(own, [piece] * self.size)
        return result[: flat.numel()].reshape(x.shape)

    def swap(self, x: Tensor, send: Sequence[int], receive: Sequence[int]) -> Tensor:
        """By one exchange with all members."""
        result = x.new_empty(sum(receive), *x.shape[1:])
        dist.all_to_all_single(result, x.contiguous(), list(receive), list(send))
        self._count((len(x) - send[self.rank]) * x[:1].numel() * x.element_size())
        return result

    def gather(self, x: Tensor, counts: Sequence[int]) -> Tensor:
        """Rows of all members."""
        pieces = [x.new_empty(n, *x.shape[1:]) for n in counts]
        x = x.contiguous()
        if len(set(counts)) == 1:
            dist.all_gather(pieces, x)
        else:  # padded, since not every backend takes pieces of different lengths
            longest = max(counts)
            padded = x.new_zeros(longest, *x.shape[1:])
            padded[: len(x)] = x
            whole = [torch.empty_like(padded) for _ in counts]
            dist.all_gather(whole, padded)
            pieces = [w[:n] for w, n in zip(whole, counts, strict=True)]
        self._count((self.size - 1) * x.numel() * x.element_size())
        return torch.cat(pieces)

    def lead(self, x: Tensor) -> Tensor:
        """What the first member has."""
        result = x.detach().clone().contiguous()
        dist.broadcast(result, 0)
        self._count(result.numel() * result.element_size() if self.first and self.size > 1 else 0)
        return result

    def lead_object(self, value: Any) -> Any:
        """What the first member has."""
        box = [value]
        dist.broadcast_object_list(box, 0, device=torch.device("cpu"))
        return box[0]

    def any(self, asked: bool) -> bool:
        """Whether it is so on any member."""
        return self.number(float(asked)) > 0

    def facts(self, own: dict[str, str]) -> list[dict[str, str]]:
        """What each member says of itself."""
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, own)
        return found

    def shared(self, theta: Tensor) -> Tensor:
        """theta, whose gradient is summed over the members."""
        result: Tensor = _Shared.apply(theta, self)
        return result

    def total(self, x: Tensor) -> Tensor:
        """The sum of x over the members."""
        result: Tensor = _Total.apply(x, self)
        return result


def present_team() -> Team:
    """Those of torch.distributed, where it has been started; else this process on its own."""
    return _processes(id(dist.group.WORLD)) if dist.is_available() and dist.is_initialized() else ALONE


def end_member(code: int) -> NoReturn:
    """End this process, which was one of a group, without winding up Python.

    Threads of gloo outlive the group that they served: one that lets go of its last tensor while Python winds up ends
    the process by SIGABRT, after all work is done.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@lru_cache(maxsize=1)
def _processes(group: int) -> Processes:
    return Processes()


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, team: Team) -> Tensor:
        ctx.team = team
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.team.sum(gradients[0]), None


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, team: Team) -> Tensor:
        return team.sum(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None
