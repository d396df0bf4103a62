"""What all tests share."""

import importlib
import sys
import time
from pathlib import Path

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small tensors are faster on one thread, and sums keep their order."""
    torch.set_num_threads(1)


@pytest.fixture
def script(monkeypatch):
    """Imports a script of benchmarks/ by its name; it and those that it imports are forgotten after the test."""
    folder = Path(__file__).parents[1] / "benchmarks"
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module
    for name in [n for n, m in sys.modules.items() if Path(getattr(m, "__file__", None) or "").parent == folder]:
        del sys.modules[name]


class OwnTime:
    """Seconds that this process has worked, and those that a test lets pass."""

    def __init__(self):
        self._skipped = 0.0

    def __call__(self):
        self._skipped += 1e-7  # no two readings are the same, however coarse the system counts
        return time.process_time() + self._skipped

    def skip(self, seconds):
        self._skipped += seconds


@pytest.fixture(autouse=True, scope="session")
def own_time():
    """Time limits and paces are judged by it, so that no outcome depends on what else the machine does."""
    clock = OwnTime()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", clock)
        yield clock
