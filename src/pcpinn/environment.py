"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch


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
