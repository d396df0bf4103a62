"""A fuzzer whose first six trials do what no trial may: the campaign must notice each."""

import os
import time

import numpy as np
from forked import in_fork


def selftest(seed, folder, cache):
    """Six misdeeds by number, then none."""
    deeds = (
        lambda: 1 / 0,
        lambda: time.sleep(60),
        lambda: np.ones(10**9).sum(),  # 8 GB
        lambda: os.system("true"),
        lambda: open(folder.parent / "elsewhere", "w").close(),
        os.abort,
    )
    work = deeds[seed] if seed < len(deeds) else lambda: None
    return f"misdeed {seed}", in_fork(work, folder, seconds=3.0), ""
