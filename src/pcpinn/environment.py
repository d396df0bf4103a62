"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

try:
    import resource
except ImportError:  # Windows has no such module
    resource = None  # type: ignore[assignment]


@cache  # each time it would read and parse a file
def package_version(name: str) -> str | None:
    """Installed version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def describe_environment(device: torch.device) -> dict[str, Any]:
    """Versions, machine and date, as plain data."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        **{
            name: package_version(name) for name in ("pcpinn", "torch", "numpy", "scipy", "scikit-fem", "netgen-mesher")
        },
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
    }


def peak_memory(device: torch.device) -> dict[str, float | None]:
    """The most memory this process has held so far, on the host and on the GPU, in GiB; None where it is not known."""
    on_device = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else None
    return {"host_gib": _host_memory(), "device_gib": None if on_device is None else round(on_device, 3)}


def _host_memory() -> float | None:
    if resource is None:
        return None
    unit = 2**30 if sys.platform == "darwin" else 2**20  # bytes there, KiB elsewhere
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 3)


def reset_peak_memory() -> None:
    """Let `peak_memory` count from here on, where the system allows it: for several runs in one process."""
    try:
        with open("/proc/self/clear_refs", "w") as handle:
            handle.write("5")
    except OSError:
        pass  # another system: the peak of the whole process is then all there is
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def limit_gpu(device: torch.device, gib: float | None) -> None:
    """Let this process take at most so much of a GPU's memory, or all of it; more is refused by torch's allocator."""
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory / 2**30
        torch.cuda.set_per_process_memory_fraction(1.0 if gib is None else min(1.0, gib / total), device.index or 0)


def free_on_gpu() -> float:
    """GiB that are free on the GPU, with those that torch holds in reserve; only where there is one."""
    reserve = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    return (torch.cuda.mem_get_info()[0] + reserve) / 2**30


def available_memory() -> float | None:
    """GiB that this process may still take before the machine, or the group it runs in, has none left; None if not known."""
    found: list[float] = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) / 2**20 for line in lines if line.startswith("MemAvailable:")]
        limit, used = (Path("/sys/fs/cgroup", name).read_text().strip() for name in ("memory.max", "memory.current"))
        if limit != "max":
            found.append((int(limit) - int(used)) / 2**30)
    except (OSError, ValueError, IndexError):
        pass  # another system, or one without groups
    return min(found) if found else None
