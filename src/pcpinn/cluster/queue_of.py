"""Which jobs of a folder are in Slurm's queue."""

from __future__ import annotations

from . import scheduler
from .scheduler import Queued
from .state import StateFolder


def queue_of(state: StateFolder) -> dict[str, Queued]:
    """Jobs that wait or run, by key; latest attempts alone.

    Raises:
        Silent: when the scheduler does not answer.
    """
    arrays, prefix, found = state.arrays(), state.prefix, {}
    for one in scheduler.queue(prefix):
        number = one.name.removeprefix(prefix)
        array = arrays.get(int(number), []) if number.isdigit() else []
        if one.index < len(array):
            key, attempt = array[one.index]
            if attempt == state.attempt(key):
                found[key] = one
    return found
