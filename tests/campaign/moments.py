"""Moments at which a process can be killed: the operations on files that it makes, counted."""

import os
import signal
import sys

CALLS = ("replace", "rename", "fsync", "open", "mkdir", "unlink", "rmdir", "chmod")


class Operations:
    """Operations on files of the process at hand: calls of `os` that have returned, and files about to be opened for writing.

    Args:
        last: the process kills itself right after this one; None to count alone.
    """

    def __init__(self, last=None):
        self.count, self.last = 0, last

    def watch(self):
        """Begin to count."""
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))
        sys.addaudithook(self._opens)

    def _counted(self, call):
        def counted(*arguments, **options):
            result = call(*arguments, **options)
            self._one()
            return result

        return counted

    def _opens(self, event, arguments):
        if event == "open" and isinstance(arguments[1], str) and arguments[1][:1] in ("w", "a", "x"):
            self._one()

    def _one(self):
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
