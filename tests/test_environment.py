"""What figures were measured on, on systems that tell less than this one."""

import importlib
import sys

import torch

from pcpinn import environment


def test_peak_memory_is_a_number_here():
    memory = environment.peak_memory(torch.device("cpu"))
    assert 0.05 < memory["host_gib"] < 1000
    assert memory["device_gib"] is None


def test_without_the_module_resource_the_memory_is_unknown(monkeypatch):
    """Windows has none."""
    monkeypatch.setitem(sys.modules, "resource", None)
    try:
        elsewhere = importlib.reload(environment)
        assert elsewhere.peak_memory(torch.device("cpu")) == {"host_gib": None, "device_gib": None}
    finally:
        monkeypatch.undo()
        importlib.reload(environment)
