"""Problems over time with known solutions, for tests of marching."""

import torch
from torch.func import grad, jacrev

from pcpinn import Dirichlet, Field, Interval, Periodic, Problem, Rectangle


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
        flux=lambda x, u: torch.stack([0.1 * u.grad[0], 0 * u.value]),
        source=lambda x, u: u.grad[1] + u.value * u.grad[0] - f(x),
        boundary={name: Dirichlet(travelling) for name in ("left", "right", "initial")},
        name="convection",
    )


def ring():
    """Two fields on a periodic line, w = u_xx, of which only u evolves: u_t + 0.02 w_xx = 0; u = sin(2 pi x) exp(-...)."""

    def flux(x, u, w):
        zero = torch.zeros_like(u.value)
        return torch.stack([-1e-3 * w.grad[0], zero]), torch.stack([u.grad[0], zero])

    return Problem(
        Interval(0, 1).over(0, 1),
        flux=flux,
        source=lambda x, u, w: (u.grad[1], w.value),
        fields=[Field("u"), Field("w")],
        boundary={
            "left": {"u": Periodic("right"), "w": Periodic("right")},
            "initial": {"u": Dirichlet(lambda x: torch.sin(2 * torch.pi * x[0]))},
        },
        name="ring",
    )


def membrane():
    """A wave as two fields, u_t = v and v_t = Laplace u; u = sin(pi x) sin(pi y) cos(sqrt(2) pi t)."""

    def flux(x, u, v):
        zero = torch.zeros_like(u.value)
        return torch.stack([zero, zero, zero]), torch.stack([u.grad[0], u.grad[1], zero])

    start = Dirichlet(lambda x: torch.sin(torch.pi * x[0]) * torch.sin(torch.pi * x[1]))
    held = {"u": Dirichlet(0.0), "v": Dirichlet(0.0)}
    return Problem(
        Rectangle((0, 0), (1, 1), name="sides").over(0, 1),
        flux=flux,
        source=lambda x, u, v: (u.grad[2] - v.value, v.grad[2]),
        fields=[Field("u"), Field("v")],
        boundary={"sides": held, "initial": {"u": start, "v": Dirichlet(0.0)}},
        name="membrane",
    )
