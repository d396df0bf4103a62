"""Whether mesh and time steps resolve the data: jumps of f and of boundary values within a cell, layers, waves, convection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..discretize.pointwise import Pointwise, dirichlet_values
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import ENDS, AnyMesh, SlabMesh
from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from .findings import Finding, graded
from .l2 import right_hand_side

_SAMPLES = 4000  # cells looked at
_TINY = 1e-12


@dataclass(frozen=True)
class _Cells:
    """Some cells: their corners (c, k, d), and their extent along each axis (c, d)."""

    corners: np.ndarray
    extent: np.ndarray


def resolution_findings(problem: Problem, mesh: AnyMesh, degree: int, state: np.ndarray, name: str) -> list[Finding]:
    """Everything about resolution.

    Args:
        problem: the PDE.
        mesh: that of the settings.
        degree: of the elements.
        state: (m, 1 + C + C d) points at random: x is of the mesh, values and gradients of the solution there.
        name: for commands.
    """
    cells = _some_cells(mesh)
    finer = f"pcpinn solve {name} --set {_finer(mesh)}"
    result = [_right_hand_side(problem, cells, degree, finer)]
    result += _prescribed(problem, mesh, degree, finer)
    result += _coefficients(problem, cells, degree, state, mesh, finer)
    return [finding for finding in result if finding is not None]


def _some_cells(mesh: AnyMesh) -> _Cells:
    if isinstance(mesh, SlabMesh):
        space = _some_cells(mesh.space)
        slab = np.resize(np.arange(len(mesh.times) - 1), len(space.corners))
        start, end = mesh.times[slab], mesh.times[slab + 1]
        corners = np.concatenate(
            [
                np.concatenate(
                    [space.corners, np.broadcast_to(t[:, None, None], (*space.corners.shape[:2], 1))], axis=2
                )
                for t in (start, end)
            ],
            axis=1,
        )
        return _Cells(corners, np.column_stack([space.extent, end - start]))
    chosen = np.unique(np.linspace(0, len(mesh.vertices) - 1, _SAMPLES).astype(int))
    corners = mesh.nodes[mesh.vertices[chosen]]
    return _Cells(corners, np.ptp(corners, axis=1))


def _right_hand_side(problem: Problem, cells: _Cells, degree: int, finer: str) -> Finding:
    centre = cells.corners.mean(axis=1, keepdims=True)
    inside = centre + 0.999 * (cells.corners - centre)  # coefficients that jump do so between cells
    f = right_hand_side(problem, torch.from_numpy(inside.reshape(-1, inside.shape[-1]))).numpy()
    f = f.reshape(*inside.shape[:2], -1)
    size = np.abs(f).max(axis=(0, 1))
    if not size.any():
        return Finding("resolution", "fine", 0.0, "the right-hand side vanishes: nothing of it to resolve")
    change = float((np.ptp(f, axis=1) / np.where(size > 0, size, 1.0)).max()) / degree
    text = f"f changes by up to {change:.0%} of its size within a cell (per degree of the elements)"
    return Finding("resolution", graded(change, 0.35, 0.8), change, text, finer if change >= 0.35 else "")


def _prescribed(problem: Problem, mesh: AnyMesh, degree: int, finer: str) -> list[Finding]:
    """Dirichlet and initial values along the facets that carry them."""
    worst: tuple[float, str] = (0.0, "")
    for boundary, by_field in problem.conditions.items():
        x = _facets(mesh, boundary)
        if x is None or x.shape[1] < 2:
            continue
        for f in problem.unknowns:
            condition = by_field.get(f.name)
            if not isinstance(condition, Dirichlet):
                continue
            points = torch.from_numpy(x.reshape(-1, x.shape[-1]))
            for part in dirichlet_values(condition, f, points, boundary, problem.over_time):
                if part is None:
                    continue
                values = part.numpy().reshape(x.shape[:2])
                scale = float(np.abs(values).max())
                if scale > 0:
                    worst = max(worst, (float(np.ptp(values, axis=1).max()) / scale / degree, boundary))
    if not worst[1]:
        return []
    change, where = worst
    text = f"values given on {where!r} change by up to {change:.0%} of their size along a facet (per degree)"
    return [Finding("resolution", graded(change, 0.35, 0.8), change, text, finer if change >= 0.35 else "")]


def _facets(mesh: AnyMesh, boundary: str) -> np.ndarray | None:
    """Corners (m, k, d) of the facets of a boundary."""
    if isinstance(mesh, Mesh):
        facets = mesh.boundaries.get(boundary)
        return None if facets is None else mesh.nodes[facets[:, : mesh.dimension]]
    if boundary in ENDS:
        x = mesh.space.nodes[mesh.space.vertices]
        t = mesh.times[0 if boundary == "initial" else -1]
        return np.concatenate([x, np.full((*x.shape[:2], 1), t)], axis=2)
    facets = mesh.space.boundaries.get(boundary)
    if facets is None:
        return None
    x = mesh.space.nodes[facets[:, : mesh.space.dimension]]
    start = np.concatenate([x, np.full((*x.shape[:2], 1), mesh.times[0])], axis=2)
    end = start.copy()
    end[..., -1] = mesh.times[1]
    return np.concatenate([start, end], axis=1)


def _coefficients(
    problem: Problem, cells: _Cells, degree: int, state: np.ndarray, mesh: AnyMesh, finer: str
) -> list[Finding]:
    """Diffusion against convection and reaction, over a cell."""
    d, C = mesh.dimension, problem.components
    x = torch.from_numpy(state[:, :d])
    values = torch.from_numpy(state[:, d:].reshape(len(state), C, 1 + d))
    J = Pointwise(problem).jacobian(x, values).numpy()  # (n, C, 1 + d, C, 1 + d)
    space = d - mesh.has_time
    h = float(np.median(cells.extent[:, :space].max(axis=1)))
    stepped = bool(problem.second_order_fields)
    result: list[Finding] = []
    peclet, waves, layers, contrast, courant = 0.0, 0.0, 0.0, 1.0, 0.0
    for c in range(C):
        own = J[:, c, :, c]
        a = np.abs(np.einsum("nii->ni", own[:, 1 : 1 + space, 1 : 1 + space])).max(axis=1)
        b = np.linalg.norm(own[:, 0, 1 : 1 + space] - own[:, 1 : 1 + space, 0], axis=1)
        r = own[:, 0, 0]
        if a.max() > _TINY:
            diffusive = a > _TINY * a.max()
            peclet = max(peclet, float((b[diffusive] * h / (2 * degree * a[diffusive])).max()))
            contrast = max(contrast, float(a.max() / a[diffusive].min()))
            number = np.sqrt(np.abs(r[diffusive]) / a[diffusive]) * h / degree
            waves = max(waves, float(np.where(r[diffusive] < 0, number, 0.0).max()))
            layers = max(layers, float(np.where(r[diffusive] > 0, number, 0.0).max()))
            if stepped:
                speed = np.sqrt(a[diffusive] / np.maximum(np.abs(own[diffusive, d, d]), 1e-300))
                if np.abs(own[:, d, d]).max() > _TINY:
                    dt = float(np.median(cells.extent[:, -1]))
                    courant = max(courant, float(speed.max()) * dt / h)
    if peclet > 0.05:
        text = f"convection over a cell is {peclet:.2g} times its diffusion (cell Peclet number; above 1 solutions oscillate)"
        result.append(Finding("resolution", graded(peclet, 1, 3), peclet, text, finer if peclet >= 1 else ""))
    if waves > 0.05:
        count = 2 * np.pi / waves
        text = f"a wave length of the operator has {count:.3g} nodes (ten are needed)"
        result.append(Finding("resolution", graded(10 / count, 1, 2), float(count), text, finer if count < 10 else ""))
    if layers > 0.2:
        text = f"a cell is {layers:.2g} times as wide as the layers that reaction makes"
        result.append(Finding("resolution", graded(layers, 1, 3), layers, text, finer if layers >= 1 else ""))
    if courant > 0:
        text = f"a wave crosses {courant:.2g} cells in a time step (at most 0.5 is stable with elements in space-time)"
        more = (
            finer.split(" --set ")[0] + " --set steps=" + str(int(np.ceil(_time_cells(mesh) * max(courant, 0.5) * 2)))
        )
        result.append(Finding("resolution", graded(courant, 0.51, 1), courant, text, more if courant > 0.5 else ""))
    if contrast > 10:
        text = f"diffusion varies by a factor of {contrast:.3g} over the domain"
        result.append(Finding("scaling", graded(contrast, 10, 1e4), contrast, text))
    return result


def _time_cells(mesh: AnyMesh) -> int:
    if isinstance(mesh, SlabMesh):
        return len(mesh.times) - 1
    return len(np.unique(np.round(mesh.nodes[:, -1], 9))) - 1


def _finer(mesh: AnyMesh) -> str:
    space = mesh.space if isinstance(mesh, SlabMesh) else mesh
    extent = np.ptp(space.nodes[space.vertices], axis=1)
    size = float(np.median(extent[:, : space.dimension - space.has_time].max(axis=1))) / 2
    return f"size={size:.2g}"
