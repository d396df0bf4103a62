"""Progress reports. Objects are passed in; nothing prints by itself."""

from __future__ import annotations


class Progress:
    """Listens to a solve; this one says nothing. Subclasses show a bar, or collect."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A new stage begins, of `total` iterations if known."""

    def update(self, iteration: int, loss: float) -> None:
        """An iteration of the current stage is done."""

    def count(self, name: str, done: int, total: int) -> None:
        """Progress of a stage without a loss (frames, files): `done` of `total` equal steps."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def close(self) -> None:
        """No more news."""
