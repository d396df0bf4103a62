"""CUDA graphs: work recorded once and replayed without Python, and without a gap between its kernels."""

from __future__ import annotations

from collections.abc import Callable

import torch


def warm_up(work: Callable[[], None], times: int = 3) -> None:
    """Do the work for real on a side stream, as a capture needs it: libraries allocate what they need at first use."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(times):
            work()
    torch.cuda.current_stream().wait_stream(side)


def capture(work: Callable[[], None]) -> Callable[[], None]:
    """Record the work, which does not run now; each call of the result runs it, on the same memory.

    Raises:
        RuntimeError: when something in the work talks to the host.
    """
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph):
            work()
    except BaseException:
        torch.cuda.set_stream(stream)  # a capture that fails leaves its own stream behind
        raise
    return graph.replay
