"""All shapes that a domain can be built from."""

from .shape_base import Difference, Domain, Intersection, Shape, SpaceTime, Union
from .shape_primitive import Primitive
from .shapes_1d import Interval
from .shapes_2d import Disk, Ellipse, Rectangle
from .shapes_3d import Ball, Box, Cylinder
from .shapes_polygon import Polygon

__all__ = [
    "Ball",
    "Box",
    "Cylinder",
    "Difference",
    "Disk",
    "Domain",
    "Ellipse",
    "Intersection",
    "Interval",
    "Polygon",
    "Primitive",
    "Rectangle",
    "Shape",
    "SpaceTime",
    "Union",
]
