"""From a problem to algebra: meshes, finite elements, finite differences, the system A u = b."""

from ..recipes import import_all

import_all(__name__)  # a new file registers itself
