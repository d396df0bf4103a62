"""Which nodes of a mesh are the same point of a periodic domain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ..errors import PcpinnError
from .mesh import Mesh
from .topology import rows_in

_CLOSE = 1e-8  # how far, relative to the mesh, a node may be from its partner


def check_pairs(periodic: Any, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The pairs of boundary names as tuples, each name known and used once."""
    pairs: list[tuple[str, str]] = []
    used: set[str] = set()
    for pair in periodic if isinstance(periodic, Iterable) and not isinstance(periodic, str) else [periodic]:
        entries = tuple(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else (pair,)
        if len(entries) != 2 or not all(isinstance(name, str) for name in entries) or entries[0] == entries[1]:
            raise PcpinnError(
                f"periodic holds {pair!r}, which is not a pair of two different boundary names",
                'write periodic=[("left", "right")]',
            )
        for name in entries:
            if name not in names:
                raise PcpinnError(
                    f"the periodic boundary {name!r} does not exist", "use one of: " + ", ".join(sorted(names))
                )
            if name in used:
                raise PcpinnError(f"the boundary {name!r} is in two periodic pairs", "use each boundary in one pair")
            used.add(name)
        pairs.append((entries[0], entries[1]))
    return tuple(pairs)


def match_periodic(mesh: Mesh, name_a: str, name_b: str) -> tuple[np.ndarray, np.ndarray]:
    """(m,) vertex numbers on boundary a and (m,) their partners on boundary b, which is a moved by one vector.

    Raises PcpinnError unless nodes and facets of both sides match.
    """
    for name in (name_a, name_b):
        if name not in mesh.boundaries:
            raise PcpinnError(
                f"the periodic boundary {name!r} does not exist in the mesh",
                "use one of: " + ", ".join(sorted(mesh.boundaries)),
            )
    a, b = (np.unique(mesh.boundaries[name]) for name in (name_a, name_b))
    lower, upper = mesh.bounds
    xa, xb = mesh.nodes[a], mesh.nodes[b]
    shift = 0.5 * (xb.min(axis=0) + xb.max(axis=0) - xa.min(axis=0) - xa.max(axis=0))
    distance, nearest = cKDTree(xb).query(xa + shift)
    worst = float(distance.max())
    if len(a) != len(b) or worst > _CLOSE * float(np.max(upper - lower)) or len(np.unique(nearest)) != len(b):
        raise PcpinnError(
            f"the periodic boundaries {name_a!r} ({len(a)} nodes) and {name_b!r} ({len(b)} nodes) do not match: "
            f"after moving the first by {np.round(shift, 6).tolist()} a node is {worst:.3g} from its partner",
            "make one side a shifted copy of the other, with the same nodes on both",
        )
    partner = np.zeros(len(mesh.nodes), dtype=np.int64)
    partner[a] = b[nearest]
    moved = partner[np.asarray(mesh.boundaries[name_a])]
    if mesh.dimension > 1 and not np.all(rows_in(moved, np.asarray(mesh.boundaries[name_b]))):
        raise PcpinnError(
            f"the periodic boundaries {name_a!r} and {name_b!r} have the same nodes but are cut into different facets",
            "use the same surface triangulation on both sides",
        )
    return a, b[nearest]


def periodic_classes(mesh: Mesh, pairs: Iterable[tuple[str, str]]) -> np.ndarray:
    """(n,) a number per node, equal for nodes that are the same point of the periodic domain."""
    matched = [match_periodic(mesh, *pair) for pair in pairs]
    count = len(mesh.nodes)
    if not matched:
        return np.arange(count)
    a, b = (np.concatenate(side) for side in zip(*matched, strict=True))
    graph = coo_matrix((np.ones(len(a)), (a, b)), shape=(count, count))
    return connected_components(graph, directed=False)[1]
