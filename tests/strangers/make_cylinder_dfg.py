"""Makes cylinder_dfg.npz: the DFG flow 2D-1 with scikit-fem alone, P4 / P3 elements with curved sides, on two meshes.

    python tests/strangers/make_cylinder_dfg.py

Writes the values of the finer mesh at random points, how much they differ from those of the coarser one, and drag, lift and
pressure difference, which are known to eight digits. Takes some minutes.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from netgen.geom2d import SplineGeometry
from scipy.sparse.linalg import splu
from skfem import Basis, BilinearForm, ElementTriP3, ElementTriP4, MeshTri, MeshTri2, asm

NU, CENTRE, RADIUS = 1e-3, np.array([0.2, 0.2]), 0.05


def mesh(far, near):
    """Triangles with quadratic sides on the cylinder."""
    geometry = SplineGeometry()
    geometry.AddRectangle((0, 0), (2.2, 0.41), bcs=["walls"] * 4)
    geometry.AddCircle(tuple(CENTRE), RADIUS, leftdomain=0, rightdomain=1, maxh=near)
    made = geometry.GenerateMesh(maxh=far, grading=0.12)
    p = np.array([list(point.p)[:2] for point in made.Points()]).T
    t = np.array([[v.nr - 1 for v in e.vertices] for e in made.Elements2D()]).T
    straight = MeshTri(p, t)
    distance = np.linalg.norm(straight.p - CENTRE[:, None], axis=0)
    assert np.abs(distance.min() - RADIUS) < 1e-12
    sides = straight.boundary_facets()
    round_sides = sides[np.abs(distance[straight.facets[:, sides]] - RADIUS).max(axis=0) < 1e-10]
    curved = MeshTri2.from_mesh(straight)
    places = curved.doflocs.copy()
    middle = places[:, len(p.T) + round_sides] - CENTRE[:, None]
    assert np.allclose(middle + CENTRE[:, None], straight.p[:, straight.facets[:, round_sides]].mean(axis=1))
    places[:, len(p.T) + round_sides] = CENTRE[:, None] + RADIUS * middle / np.linalg.norm(middle, axis=0)
    return straight, MeshTri2(places, curved.t), round_sides


def inflow(y):
    return 1.2 * y * (0.41 - y) / 0.41**2


@BilinearForm
def stiffness(u, v, w):
    return NU * (u.grad[0] * v.grad[0] + u.grad[1] * v.grad[1])


@BilinearForm
def carried(u, v, w):
    return (w["a"] * u.grad[0] + w["b"] * u.grad[1]) * v


@BilinearForm
def weighted(u, v, w):
    return w["c"] * u * v


def solve(far, near, points):
    straight, curved, round_sides = mesh(far, near)
    V = Basis(curved, ElementTriP4(), intorder=11)
    Q = Basis(curved, ElementTriP3(), quadrature=(V.X, V.W))
    n, m = V.N, Q.N
    K = asm(stiffness, V)
    B = [asm(BilinearForm(lambda u, q, w, i=i: -u.grad[i] * q), V, Q) for i in (0, 1)]
    Z = sp.csr_matrix((m, m))
    x, y = V.doflocs
    sides = straight.boundary_facets()
    on_cylinder = V.get_dofs(round_sides).all()
    at = straight.p[:, straight.facets[:, sides]]
    fixed_sides = sides[~(np.abs(at[0] - 2.2) < 1e-10).all(axis=0)]
    fixed = V.get_dofs(fixed_sides).all()
    u, v, p = np.zeros(n), np.zeros(n), np.zeros(m)
    entry = fixed[np.abs(x[fixed]) < 1e-10]
    u[entry] = inflow(y[entry])
    free = np.setdiff1d(np.arange(2 * n + m), np.concatenate([fixed, n + fixed]))
    for iteration in range(12):
        a, b = V.interpolate(u), V.interpolate(v)
        C = asm(carried, V, a=a, b=b)
        S = K + C
        residual = np.concatenate([S @ u + B[0].T @ p, S @ v + B[1].T @ p, B[0] @ u + B[1] @ v])
        size = np.abs(residual[free]).max()
        print(f"  Newton {iteration}: {size:.1e}", flush=True)
        if size < 1e-14:
            break
        D = [[asm(weighted, V, c=f.grad[i]) if iteration else 0 * K for i in (0, 1)] for f in (a, b)]
        A = sp.bmat([[S + D[0][0], D[0][1], B[0].T], [D[1][0], S + D[1][1], B[1].T], [B[0], B[1], Z]]).tocsc()
        step = splu(A[free][:, free].tocsc(), permc_spec="COLAMD").solve(-residual[free])
        whole = np.zeros(2 * n + m)
        whole[free] = step
        u, v, p = u + whole[:n], v + whole[n : 2 * n], p + whole[2 * n :]
    force = [-500 * residual[i * n + on_cylinder].sum() for i in (0, 1)]

    def values(where):
        cells = straight.element_finder()(*where.T)
        local = V.mapping.invF(where.T[:, :, None], tind=cells)
        result = []
        for basis, coefficients in ((V, u), (V, v), (Q, p)):
            found = np.zeros(len(where))
            for k in range(basis.Nbfun):
                shape = np.asarray(basis.elem.gbasis(basis.mapping, local, k, tind=cells)[0]).reshape(-1)
                found += shape * coefficients[basis.element_dofs[k, cells]]
            result.append(found)
        return np.stack(result, axis=1)

    front, back = values(np.array([[0.15, 0.2], [0.25, 0.2]]))[:, 2]
    print(
        f"{curved.t.shape[1]} triangles, {2 * n + m} unknowns: {force[0]:.8f} {force[1]:.8f} {front - back:.8f}",
        flush=True,
    )
    return values(points), np.array([*force, front - back])


if __name__ == "__main__":
    random = np.random.default_rng(0)
    points = random.uniform((0, 0), (2.2, 0.41), (2500, 2))
    points = points[np.linalg.norm(points - CENTRE, axis=1) > RADIUS]
    coarse, _ = solve(0.03, 0.005, points)
    fine, numbers = solve(0.018, 0.003, points)
    difference = np.linalg.norm(fine - coarse, axis=0) / np.linalg.norm(fine, axis=0)
    print("difference of u1, u2, p:", difference)
    table = {"points": points, "values": fine, "difference": difference, "numbers": numbers}
    np.savez_compressed(Path(__file__).with_name("cylinder_dfg.npz"), **table)
