"""Problems pulled back to a reference domain, against the same problem on the image."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.mesh import Mesh


def physical(domain):
    """Vector diffusion with convection; values, fluxes with normals, and a Robin condition."""
    return pc.Problem(
        domain,
        flux=lambda x, u: (1 + x[0] ** 2) * u.grad + 0.1 * u.grad.flip(0),
        source=lambda x, u: u.value + u.grad @ torch.stack([x[1], x[0]]) - torch.stack([1 + x[0], x[1]]),
        fields=pc.Field("u", 2),
        boundary={
            "left": pc.Dirichlet(lambda x: torch.stack([x[1], 0 * x[1]])),
            "right": pc.Natural(lambda x, n, u: n * x[1] - u.value),
            "top": pc.Neumann(lambda x: torch.stack([x[0], x[1]])),
            "bottom": pc.Robin(2.0, 1.0),
        },
    )


def test_an_affine_map_gives_the_very_same_discrete_solution():
    square = pc.Rectangle((0, 0), (1, 1))
    J = torch.tensor([[1.5, 0.3], [-0.2, 0.8]], dtype=torch.float64)
    mesh = generate_mesh(square, cells=(5, 5))
    image = Mesh(mesh.nodes @ J.numpy().T, mesh.cells, mesh.boundaries, mesh.has_time)
    reference = linear_system(FiniteElements(pc.mapped(physical(square), lambda X: J @ X), mesh, 2, 10)).solution
    direct = linear_system(FiniteElements(physical(image), image, 2, 10)).solution
    assert np.abs(reference - direct).max() < 1e-9 * np.abs(direct).max()


def test_a_map_that_bends():
    """u = x y on the image of a map that is not affine: in the reference it solves the pulled-back problem."""

    def bend(X):
        return torch.stack([X[0] + 0.2 * X[1] ** 2, X[1] + 0.1 * torch.sin(X[0])])

    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        boundary={n: pc.Dirichlet(lambda x: x[0] * x[1]) for n in ("left", "right", "bottom")}
        | {"top": pc.Natural(lambda x, n, u: n[0] * x[1] + n[1] * x[0])},
    )
    mesh = generate_mesh(problem.domain, cells=(6, 6))
    form = FiniteElements(pc.mapped(problem, bend), mesh, 4)
    x = torch.func.vmap(bend)(torch.from_numpy(form.unknown_nodes)).numpy()
    assert np.abs(linear_system(form).solution - x[:, 0] * x[:, 1]).max() < 1e-6


def test_refused():
    square = pc.Rectangle((0, 0), (1, 1))
    with pytest.raises(pc.PcpinnError, match="map is 3"):
        pc.mapped(physical(square), 3)
    timed = pc.Problem(pc.Interval(0, 1).over(0, 1, coordinate=True), flux=lambda x, u: u.grad)
    with pytest.raises(pc.PcpinnError, match="time is a coordinate"):
        pc.mapped(timed, lambda X: X)
