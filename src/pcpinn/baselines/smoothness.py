"""Penalties on roughness: squared gradients (Tikhonov) or their length (total variation, smoothed), free of units.

With L the size of the domain and s that of the values, ||grad v||^2 counts as L^(2-d) / s^2 times its integral.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import skfem
from skfem.helpers import dot, grad

from ..discretize.slabs import TimeSlabs
from ..discretize.space import ScalarSpace, Space
from ..invert.equations import Equations
from ..problem.conditions import Free

_CORNER = 0.01  # slope, in units of s / L, below which total variation is smoothed


@dataclass(frozen=True)
class Roughness:
    """A penalty on nodal values of one function.

    Attributes:
        slopes: (d Q, n) gradients at quadrature points, axis after axis, in units of s / L.
        weights: (Q,) parts of the domain's volume, in units of L^d.
        kind: tikhonov or tv.
    """

    slopes: sp.csr_matrix
    weights: np.ndarray
    kind: str = "tikhonov"

    def value(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """Penalty of nodal values (n,), and its gradient (n,)."""
        g = (self.slopes @ v).reshape(-1, len(self.weights))
        if self.kind == "tikhonov":
            return 0.5 * float((self.weights * g**2).sum()), self.slopes.T @ (self.weights * g).ravel()
        length = np.sqrt((g**2).sum(axis=0) + _CORNER**2)
        return float(self.weights @ (length - _CORNER)), self.slopes.T @ (self.weights * g / length).ravel()


def roughness(space: Space, unit: float, kind: str = "tikhonov") -> Roughness:
    """Of functions of the first scalar space, with values of about a given size."""
    own, at = space.scalar[0], space.quadrature
    cells, q = at.dx.shape[0], at.X.shape[1]
    _, reference = own.tabulate(at.X)  # (q, b, k)
    inverse = np.broadcast_to(at.inverse_jacobian, (cells, q, *at.inverse_jacobian.shape[2:]))
    gradients = np.einsum("qbk,cqki->icqb", reference, inverse)
    rows = np.repeat(np.arange(cells * q), own.cell_nodes.shape[1])
    columns = np.repeat(own.cell_nodes[:, None, :], q, axis=1).ravel()
    size = _extent(own)
    parts = [
        sp.csr_matrix((size / unit * part.ravel(), (rows, columns)), shape=(cells * q, own.size)) for part in gradients
    ]
    weights = np.broadcast_to(at.dx, (cells, q)).ravel() / size**own.mesh.dimension
    return Roughness(sp.csr_matrix(sp.vstack(parts)), weights, kind)


def free_roughness(equations: Equations, unit: float) -> sp.csr_matrix:
    """(N, N), R: 0.5 u^T R u penalises the slopes of u along `Free` boundaries; only values on these enter."""
    form = equations.discretisation
    total = sp.csr_matrix((form.size, form.size))
    for name, by_field in form.problem.conditions.items():
        for field, condition in by_field.items():
            if isinstance(condition, Free):
                for k in form.problem.component_range(field):
                    total = total + _on_boundary(equations, name, k)
    return sp.csr_matrix(total / unit**2)


def _on_boundary(equations: Equations, name: str, component: int) -> sp.csr_matrix:
    form = equations.discretisation
    own, offset = form.space.scalar[component], int(form.space.offsets[component])
    if not isinstance(form, TimeSlabs):
        return _placed(_along(own, name)[0], offset, form.size)
    layers = form.scheme.layer_count
    if name == "initial":
        first = sp.csr_matrix(([1.0], ([0], [0])), shape=(layers, layers))
        return sp.csr_matrix(sp.kron(first, _placed(_inside(own), offset, form.layer_size)))
    stiffness, mass = (_placed(m, offset, form.layer_size) for m in _along(own, name))
    in_time, over_time = _line((form.scheme.layers - form.scheme.times[0]) / np.ptp(form.scheme.times))
    return sp.csr_matrix(sp.kron(over_time, stiffness) + sp.kron(in_time, mass))


def _inside(space: ScalarSpace) -> sp.csr_matrix:
    basis = skfem.Basis(space.mesh.skfem, space.element)
    K = skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v))).assemble(basis).tocsr()
    return sp.csr_matrix(K * _extent(space) ** (2 - space.mesh.dimension))


def _along(space: ScalarSpace, name: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Products of slopes along a boundary, and of values on it, free of units."""
    basis = skfem.FacetBasis(
        space.mesh.skfem, space.element, facets=np.asarray(space.mesh.facets(name)), intorder=2 * space.degree
    )

    def tangential(u, v, w):  # type: ignore[no-untyped-def]
        return dot(grad(u), grad(v)) - dot(grad(u), w.n) * dot(grad(v), w.n)

    size, d = _extent(space), space.mesh.dimension - 1
    K = skfem.BilinearForm(tangential).assemble(basis).tocsr() * size ** (2 - d)
    M = skfem.BilinearForm(lambda u, v, w: u * v).assemble(basis).tocsr() * size**-d
    on = sp.diags(np.isin(np.arange(space.size), space.boundary_nodes(space.mesh.facets(name))).astype(float))
    return sp.csr_matrix(on @ K @ on), sp.csr_matrix(on @ M @ on)  # rounding leaves traces of inner nodes


def _line(t: np.ndarray) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Stiffness and lumped mass of linear elements through ascending times."""
    h = np.diff(t)
    D = sp.diags([-1 / h, 1 / h], [0, 1], shape=(len(h), len(t)))
    mass = 0.5 * (np.append(h, 0) + np.append(0, h))
    return sp.csr_matrix(D.T @ sp.diags(h) @ D), sp.csr_matrix(sp.diags(mass))


def _placed(matrix: sp.csr_matrix, offset: int, size: int) -> sp.csr_matrix:
    entries = matrix.tocoo()
    return sp.csr_matrix((entries.data, (entries.row + offset, entries.col + offset)), shape=(size, size))


def _extent(space: ScalarSpace) -> float:
    return float(np.ptp(space.nodes, axis=0).max())
