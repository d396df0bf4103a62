"""What the shapes that are not made from others have in common."""

from __future__ import annotations

from . import shape_checks as checks
from .shape_base import Shape


class Primitive(Shape):
    """A shape that is not made from others."""

    @property
    def primitives(self) -> tuple[Shape, ...]:
        """Itself."""
        return (self,)

    @property
    def side_names(self) -> tuple[str, ...]:
        """One name per side, in the shape's own order of sides."""
        return (getattr(self, "name", None) or "boundary",)

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """Sorted, each once."""
        return tuple(sorted(set(self.side_names)))

    def _check_name(self) -> None:
        name = getattr(self, "name", None)
        if name is not None:
            checks.name(name, type(self).__name__)
