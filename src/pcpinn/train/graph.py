"""CUDA graphs: work recorded once and replayed without Python, and without a gap between its kernels."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from ..errors import PcpinnError
from . import turns
from .host_tables import HostTables


def warm_up(work: Callable[[], None], times: int = 3) -> None:
    """Do the work for real on a side stream, as a capture needs it: libraries allocate what they need at first use."""
    side = turns.recording_stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(times):
            work()
    torch.cuda.current_stream().wait_stream(side)


def capture(work: Callable[[], None], tables: HostTables | None = None) -> Callable[[], None]:
    """Record the work, which does not run now; each call of the result runs it, on the same memory.

    The result keeps the tables: the graph reads their copies on the GPU.

    Args:
        work: what to record.
        tables: of the host that it takes to the GPU, as its warm-up met them.

    Raises:
        RuntimeError: when something in the work talks to the host.
    """
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        # Other threads may wait for their own work meanwhile: only what this one does can spoil the recording.
        recording = torch.cuda.graph(graph, stream=turns.recording_stream(), capture_error_mode="thread_local")
        with recording, _nothing_collected(), tables or contextlib.nullcontext():
            work()
    except BaseException:
        torch.cuda.set_stream(stream)  # a capture that fails leaves its own stream behind
        raise
    return partial(_replay, graph, tables)


def _replay(graph: torch.cuda.CUDAGraph, tables: HostTables | None) -> None:
    graph.replay()


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """While recording: a graph of an earlier training that is freed now would end it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def try_capture(
    work: Callable[[], None],
    live: Sequence[Tensor],
    first: Callable[[], None] | None = None,
    tables: HostTables | None = None,
) -> Callable[[], None] | None:
    """Warm up by `first`, or by the work itself, then record the work; None where something in it talks to the host.

    The tensors `live`, which the work changes, are as before, either way.
    """
    saved = [tensor.detach().clone() for tensor in live]
    captured, tables = None, tables or HostTables()
    try:
        with tables:
            warm_up(first or work)
        captured = capture(work, tables)
    except (RuntimeError, PcpinnError):
        with contextlib.suppress(RuntimeError):
            torch.cuda.synchronize()
    with torch.no_grad():
        for tensor, kept in zip(live, saved, strict=True):
            tensor.copy_(kept)
    return captured


def mark_changed(tensors: Sequence[Tensor]) -> None:
    """Say of tensors that a replayed graph has changed them, which torch does not see."""
    for tensor in tensors:
        torch.autograd.graph.increment_version(tensor)
