"""Mixed forms get elements of one degree more."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.saddle import with_stable_degrees
from pcpinn.solve.adapt.degrees import first_order
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.space import adapt
from pcpinn.solve.adapt.wish import Wish, first_mesh
from pcpinn.solve.linear import settings_of

PI = torch.pi


def eye(x):
    return torch.eye(2, dtype=x.dtype)


def bump(x):
    return torch.sin(PI * x[0]) * torch.sin(PI * x[1])


def mixed():
    """s = grad u and div s + f = 0, whose solution is the bump."""
    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1), name="wall"),
        fields={"s": 2, "u": 1},
        flux=lambda x, s, u: (u.value * eye(x), None),
        source=lambda x, s, u: (s.value, s.grad.trace() + 2 * PI**2 * bump(x)),
        boundary={"wall": {"s": pc.Neumann(0.0)}},
    )
    return with_stable_degrees(problem)[0]


def stokes():
    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1), name="wall"),
        fields={"u": 2, "p": 1},
        flux=lambda x, u, p: (u.grad - p.value * eye(x), None),
        source=lambda x, u, p: (u.value, u.grad.trace()),
        boundary={"wall": {"u": pc.Dirichlet(0.0)}},
        pins=[pc.Pin(at=(0.0, 0.0), field="p")],
    )
    return with_stable_degrees(problem)[0]


def wish_of(problem, **choices):
    return Wish(settings_of("pcpinn", problem, {"accuracy": 1e-3}, choices))


def test_a_mixed_form_needs_no_more_than_the_first_meshes():
    """With cubic elements the gradient converges with order two: 56 000 degrees of freedom for this accuracy."""
    problem = mixed()
    settings = wish_of(problem).settings(2, first_order(problem, wish_of(problem)))
    elements = Elements(settings.mesh.degree, settings.mesh.element, settings.mesh.quadrature)
    found = adapt(problem, first_mesh(problem, settings), elements, 3.5e-4, Limits(60), pc.Progress())
    assert found.limited_by is None
    assert len(found.history) <= 2
    x = np.random.default_rng(0).random((500, 2))
    u = found.level.coarse.interpolate(found.level.u, x)[:, 2]
    truth = bump(torch.from_numpy(x).T).numpy()
    assert np.linalg.norm(u - truth) < 3.5e-4 * np.linalg.norm(truth)


@pytest.mark.parametrize(("problem", "choices"), [(stokes, {}), (mixed, {"degree": 3})])
def test_flows_and_what_the_user_says_stay(problem, choices):
    assert first_order(problem(), wish_of(problem(), **choices)) == {}
