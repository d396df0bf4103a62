"""What pictures, films and files ask of an answer, whichever way it was made."""

from __future__ import annotations

from typing import Any, Protocol

from ..mesh.slab_mesh import AnyMesh
from ..problem.field import Field


class Function(Protocol):
    """A function of space, or of space and time; a `Solution`, for one."""

    @property
    def mesh(self) -> AnyMesh:
        """Where it lives; the last coordinate may be time."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """What its components are."""

    def __call__(self, x: Any, /) -> Any:
        """Values (n,) or (n, components) at points (n, d)."""


class Named(Protocol):
    """What a still picture asks for: names instead of fields, so that any direction can be drawn."""

    @property
    def mesh(self) -> AnyMesh:
        """Where it lives; the last coordinate may be time."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of its components."""

    def __call__(self, x: Any, /) -> Any:
        """Values (n,) or (n, components) at points (n, d)."""
