import numpy as np
import pytest
import torch
from cases import chosen

from pcpinn import Dirichlet, Disk, PcpinnError, Problem, Rectangle
from pcpinn.baselines.collocation import collocation_loss
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.build import make_network

SQUARE = Rectangle((0, 0), (2, 1))


def loss_of(domain, **changes):
    names = generate_mesh(domain, size=0.4).boundary_names
    problem = Problem(
        domain,
        flux=lambda x, u: u.grad,
        source=lambda x, u: u.value - x[0],
        boundary=dict.fromkeys(names, Dirichlet(0.0)),
    )
    mesh = generate_mesh(domain, size=0.4)
    small = {"width": 5, "depth": 1, "features": "none", "collocation": 100, "device": "cpu"}
    settings = chosen(method="vpinn", **{**small, **changes})
    return collocation_loss(problem, mesh, make_network(problem, mesh, settings), settings)


def test_a_box_is_covered():
    loss = loss_of(SQUARE, subdomains=3, tests=2)
    facts = loss.describe()
    assert (facts["subdomains"], facts["tests"], facts["gauss_points"]) == (9, 2, 9 * 16)
    assert loss.parts()[0].shape == (9 * 4,)


def test_about_as_many_gauss_points_as_asked_for():
    for collocation in (200, 2000, 8192):
        count = loss_of(SQUARE, collocation=collocation).describe()["gauss_points"]
        assert 0.4 < count / collocation < 2.5


def test_where_the_boundary_cuts_through_the_strong_form_is_kept():
    loss = loss_of(SQUARE - Disk((1.0, 0.5), 0.2, name="hole"), subdomains=5, tests=2)
    x = loss.points.numpy()
    cut = (np.abs(x[:, 0] - 1) < 0.2) & (np.abs(x[:, 1] - 0.5) < 0.3)  # the cells of 0.4 x 0.2 that the hole meets
    assert loss.describe()["subdomains"] == 22
    assert loss.parts()[0].shape == (22 * 4 + cut.sum(),)


def test_the_projection_is_no_larger_than_the_residual():
    """With test functions of unit norm the weak residual of few of them is below the mean square of the strong one."""
    loss = loss_of(SQUARE, subdomains=2, tests=1)
    weak = float((loss.parts()[0] ** 2).sum().detach())
    strong = float((loss.equations() ** 2).sum().detach())
    assert 0 < weak < strong


def test_the_gradient_by_the_weights():
    loss = loss_of(SQUARE, subdomains=2, tests=2)
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    start, step, values = loss.theta.detach().clone(), 1e-6, []
    direction = torch.randn(len(start), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for sign in (1, -1):
        with torch.no_grad():
            loss.theta.copy_(start + sign * step * direction)
        values.append(loss.loss().item())
    assert float(gradient @ direction) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6)


def test_a_mesh_is_refused():
    mesh = generate_mesh(SQUARE, size=0.5)
    problem = Problem(mesh, flux=lambda x, u: u.grad, boundary=dict.fromkeys(mesh.boundary_names, Dirichlet(0.0)))
    settings = chosen(method="vpinn", width=4, depth=1, device="cpu")
    with pytest.raises(PcpinnError, match="made of shapes"):
        collocation_loss(problem, mesh, make_network(problem, mesh, settings), settings)
