"""From a problem to algebra: meshes, finite elements, finite differences, the system A u = b."""
