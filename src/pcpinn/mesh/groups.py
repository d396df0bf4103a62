"""Boundary names in mesh files."""

from __future__ import annotations

from typing import Any

import numpy as np

from .topology import facets_of, rows_in

_FACET_TYPES = {1: ("vertex",), 2: ("line", "line3"), 3: ("triangle", "triangle6")}
_TAGS = ("gmsh:physical", "boundary", "boundaries", "medit:ref", "facet_tags", "cell_tags", "name_to_read", "tag")


def named_facets(data: Any, dimension: int, vertices: np.ndarray) -> dict[str, np.ndarray]:
    """Name -> (f, d) node numbers as in the file, of meshio's mesh `data` with the (c, d + 1) cells `vertices`.

    Every facet on the boundary gets a name: those in no group are called "boundary", or "unnamed" if a group already
    has that name.
    """
    groups: dict[str, list[np.ndarray]] = {}
    titles = _titles(data, dimension)
    tags = _tag_data(data, dimension)
    for number, block in enumerate(data.cells):
        if block.type not in _FACET_TYPES[dimension]:
            continue
        facets = np.asarray(block.data)[:, :dimension].astype(np.int64)
        for name, members in (data.cell_sets or {}).items():
            if name.startswith("gmsh:") or members[number] is None or len(members[number]) == 0:
                continue
            groups.setdefault(str(name), []).append(facets[np.asarray(members[number], dtype=np.int64)])
        if tags is not None:
            own = np.asarray(tags[number]).reshape(len(facets))
            for tag in np.unique(own[own != 0]):  # 0 means: in no group
                groups.setdefault(titles.get(int(tag), str(int(tag))), []).append(facets[own == tag])
    result = {name: np.unique(np.sort(np.concatenate(rows), axis=1), axis=0) for name, rows in groups.items()}
    outer = facets_of(vertices).boundary
    left = outer[~rows_in(outer, np.concatenate(list(result.values())))] if result else outer
    if len(left):
        result["unnamed" if "boundary" in result else "boundary"] = left
    return result


def _titles(data: Any, dimension: int) -> dict[int, str]:
    """Number of a physical group of facets -> its name."""
    pairs = {str(name): np.asarray(value).ravel() for name, value in (data.field_data or {}).items()}
    return {
        int(v[0]): name for name, v in pairs.items() if len(v) == 2 and v.dtype.kind in "iu" and v[1] == dimension - 1
    }


def _tag_data(data: Any, dimension: int) -> list[np.ndarray] | None:
    """The integer cell data that number the facets, one array per block; the usual names first."""
    numbers = [i for i, block in enumerate(data.cells) if block.type in _FACET_TYPES[dimension]]
    usable = [
        key
        for key, values in (data.cell_data or {}).items()
        if key != "gmsh:geometrical"
        and numbers
        and all(
            np.asarray(values[i]).dtype.kind in "iu" and np.asarray(values[i]).size == len(data.cells[i].data)
            for i in numbers
        )
    ]
    for key in (*_TAGS, *usable):
        if key in usable:
            return list(data.cell_data[key])
    return None
