"""A page with sliders: the network itself, evaluated in the browser as they move. Self-contained; opens without a network."""

from __future__ import annotations

import base64
import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..discretize.space import ScalarSpace
from ..errors import PcpinnError
from ..files import write_atomically
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network.parametric import ParametricNetwork
from ..network.trunk_branch import TrunkBranchNetwork
from ..network.trunk_solve import TrunkSolveNetwork
from .family import Parameters

_MOST = 24  # sliders
_STOPS = 200  # of a slider
_GRID = {1: 400, 2: 90}  # places along each axis, by dimension
_ACTIVATIONS = {
    "tanh": "Math.tanh(s)",
    "silu": "s/(1+Math.exp(-s))",
    "sin": "Math.sin(s)",
}
_PAGE = Path(__file__).with_name("slider.html")


def write_slider(
    path: Path, network: Any, parameters: Parameters, mesh: AnyMesh, names: tuple[str, ...], title: str, note: str
) -> Path:
    """Write the page.

    Args:
        path: file to write, .html.
        network: of a family.
        parameters: of it.
        mesh: where it lives.
        names: of its outputs.
        title, note: for people.

    Raises:
        PcpinnError: for more than two dimensions, many parameters, or a network that the page cannot evaluate.
    """
    d = mesh.dimension
    if d not in _GRID:
        raise PcpinnError(f"a slider picture of {d} dimensions", "use surrogate.at(mu).to_vtu(...) and ParaView")
    if parameters.count > _MOST:
        raise PcpinnError(f"{parameters.count} sliders", f"a page has at most {_MOST}")
    data = _layers(network) | {
        "title": title,
        "names": list(names),
        "labels": list(parameters.labels),
        "stops": _stops(parameters),
        "places": _places(network, mesh),
        "size": _GRID[d],
        "dimension": d,
        "bounds": [b.tolist() for b in mesh.bounds],
    }
    text = _PAGE.read_text(encoding="utf-8")
    for key, value in {
        "TITLE": html.escape(title),
        "NOTE": html.escape(note),
        "ACTIVATION": _ACTIVATIONS[network.architecture.activation],
        "BEND": _ACTIVATIONS[_bends_by(network)],
        "DATA": json.dumps(data, allow_nan=False).replace("<", "\\u003c"),
    }.items():
        text = text.replace(f"@{key}@", value)
    write_atomically(Path(path), text)
    return Path(path)


def _layers(network: Any) -> dict[str, Any]:
    """Layers of the trunk and of the branch; of a single perceptron the first layer is cut into place and parameters."""
    theta = network.theta.detach()
    if getattr(network, "ansatz", None) is not None or not isinstance(network, ParametricNetwork | TrunkBranchNetwork):
        raise PcpinnError(f"{type(network).__name__} cannot be evaluated on a page", "use network=mlp or trunk-branch")
    for name in (network.architecture.activation, _bends_by(network)):
        if name not in _ACTIVATIONS:
            raise PcpinnError(f"activation={name} on a page", f"use {', '.join(_ACTIVATIONS)}")
    kind = "branch" if isinstance(network, TrunkBranchNetwork) else "one"
    trunk, rest = network.layers(theta) if isinstance(network, TrunkBranchNetwork) else (network.layers(theta), [])
    scale = network.output_scale.expand(network.outputs)
    size = network.size_layer(theta) if isinstance(network, TrunkBranchNetwork) else None
    return {
        "kind": "solve" if isinstance(network, TrunkSolveNetwork) else kind,
        "trunk": [_layer(w, b) for w, b in trunk],
        "branch": [_layer(w, b) for w, b in rest],
        "scale": scale.tolist(),
        "sizes": None if size is None else _layer(*size),
        "outputs": network.outputs,
    }


def _bends_by(network: Any) -> str:
    """The activation of a branch; of a single perceptron its own."""
    return str(getattr(network, "bends_by", network.architecture.activation))


def _layer(w: torch.Tensor, b: torch.Tensor) -> dict[str, Any]:
    return {"rows": w.shape[0], "columns": w.shape[1], "w": _packed(w), "b": _packed(b)}


def _packed(values: Any) -> str:
    """Numbers in 32 bits, as text."""
    array = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()


def _stops(parameters: Parameters) -> list[list[float]]:
    """The values of each number along its slider."""
    z = torch.linspace(-1, 1, _STOPS + 1, dtype=torch.float64)[:, None].expand(-1, parameters.count)
    return [[float(f"{v:.5g}") for v in column] for column in parameters.value(z).T.tolist()]


def _places(network: Any, mesh: AnyMesh) -> dict[str, Any]:
    """What the first layer sees of a grid over the box of the mesh, and which of its places are inside."""
    lower, upper = mesh.bounds
    axes = [np.linspace(a, b, _GRID[mesh.dimension]) for a, b in zip(lower, upper, strict=True)]
    x = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
    space = mesh.space if isinstance(mesh, SlabMesh) else mesh
    inside = ~ScalarSpace(space, 1).outside(x[:, : space.dimension])
    zeros = torch.zeros(len(x), network.numbers, dtype=torch.float64)
    points = torch.cat([zeros, torch.from_numpy(x)], dim=1).to(network.theta)
    encoded = network.encode(points if isinstance(network, ParametricNetwork) else points[:, network.numbers :])
    if isinstance(network, ParametricNetwork):
        encoded = encoded[:, : -network.numbers]
    return {"count": len(x), "columns": encoded.shape[1], "x": _packed(encoded), "inside": inside.astype(int).tolist()}
