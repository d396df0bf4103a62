"""Problems over time with known solutions, for tests of marching."""

import torch
from torch.func import grad, jacrev

from pcpinn import Dirichlet, Field, Initial, Interval, Periodic, Problem, Rectangle


def timed(function):
    """A function of points (x, ..., t) as one of (x, t)."""
    return lambda x, t: function(torch.cat([x, t[None]]))


def travelling(x):
    """u(x, t) of `convection`."""
    return torch.exp(-x[1]) * torch.sin(torch.pi * x[0]) + 0.3 * x[0] * torch.sin(2 * x[1])


def convection():
    """u_t + u u_x = 0.1 u_xx + f with boundary values that change."""

    def f(x):
        g, h = grad(travelling)(x), jacrev(grad(travelling))(x)
        return g[1] + travelling(x) * g[0] - 0.1 * h[0, 0]

    return Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.1 * u.grad,
        source=lambda x, t, u: u.value * u.grad[0] - timed(f)(x, t),
        boundary={
            "left": Dirichlet(timed(travelling)),
            "right": Dirichlet(timed(travelling)),
            "initial": Initial(timed(travelling)),
        },
        name="convection",
    )


def ring():
    """Two fields on a periodic line, w = u_xx, of which only u evolves: u_t + 0.02 w_xx = 0; u = sin(2 pi x) exp(-...)."""
    return Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u, w: (u.value, None),
        flux=lambda x, u, w: (-1e-3 * w.grad, u.grad),
        source=lambda x, u, w: (None, w.value),
        fields=[Field("u"), Field("w")],
        boundary={
            "left": {"u": Periodic("right"), "w": Periodic("right")},
            "initial": {"u": Initial(lambda x: torch.sin(2 * torch.pi * x[0]))},
        },
        name="ring",
    )


def membrane():
    """A wave as two fields, u_t = v and v_t = Laplace u; u = sin(pi x) sin(pi y) cos(sqrt(2) pi t)."""
    start = Initial(lambda x: torch.sin(torch.pi * x[0]) * torch.sin(torch.pi * x[1]))
    held = {"u": Dirichlet(0.0), "v": Dirichlet(0.0)}
    return Problem(
        Rectangle((0, 0), (1, 1), name="sides").over(0, 1),
        density=lambda x, u, v: (u.value, v.value),
        flux=lambda x, u, v: (None, u.grad),
        source=lambda x, u, v: (-v.value, None),
        fields=[Field("u"), Field("v")],
        boundary={"sides": held, "initial": {"u": start, "v": Initial(0.0)}},
        name="membrane",
    )
