"""Problems that a pin cannot make solvable are refused; those that it does are not."""

import numpy as np
import pytest
import torch
from small import QUICK

import pcpinn as pc
from pcpinn import Dirichlet, Field, Interval, Neumann, Pin, Problem, Rectangle
from pcpinn.discretize.balance import imbalances, refuse_unbalanced
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.nonlinear import solve_newton
from pcpinn.discretize.window import MarchSpace
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.stepping import march_discrete

SQUARE = Rectangle((0, 0), (1, 1))
SIDES = ("left", "right", "bottom", "top")


def closed(source, outflow, power=None):
    """-Laplace u = source, with an outflow through the top and nothing through other sides."""
    conditions = {**dict.fromkeys(SIDES, Neumann(0.0)), "top": Neumann(outflow)}
    nonlinear = (lambda x, u: u.value**power - source(x)) if power else (lambda x, u: -source(x))
    return Problem(SQUARE, lambda x, u: u.grad, nonlinear, boundary=conditions, pins=[Pin((0.0, 0.0))])


def on_cells(problem, n=4, degree=2):
    refuse_unbalanced(FiniteElements(problem, generate_mesh(SQUARE, cells=(n, n)), degree))


def test_what_flows_in_must_flow_out():
    on_cells(closed(lambda x: 1.0, -1.0))
    on_cells(closed(lambda x: 3 * x[0] ** 2, -1.0))
    on_cells(closed(lambda x: torch.exp(4 * x[1]), -(torch.e**4 - 1) / 4), n=3, degree=1)  # but for quadrature
    with pytest.raises(pc.PcpinnError, match=r"'u' has no solution.* add up to 3 \(64%"):
        on_cells(closed(lambda x: 4.0, -1.0))


def test_a_source_that_depends_on_u_sees_to_it():
    on_cells(closed(lambda x: 4.0, -1.0, power=3))


def flow(outflow):
    """Stokes flow in a square, with fluid that comes in at the left."""
    speed = {side: {"v": Dirichlet([0.0, 0.0])} for side in SIDES}
    speed |= {"left": {"v": Dirichlet([1.0, 0.0])}, "right": {"v": Dirichlet([outflow, 0.0])}}
    return Problem(
        SQUARE,
        lambda x, v, p: (v.grad - p.value * torch.eye(2, dtype=x.dtype), None),
        lambda x, v, p: (None, v.grad[0, 0] + v.grad[1, 1]),
        boundary=speed,
        fields=(Field("v", components=2, degree=2), Field("p", degree=1)),
        pins=[Pin((0.0, 0.0), field="p")],
    )


def test_a_closed_flow():
    on_cells(flow(1.0))
    with pytest.raises(pc.PcpinnError, match="'p' has no solution"):
        on_cells(flow(0.5))


@pytest.mark.parametrize(
    "how", [QUICK | {"cells": (4, 4)}, {"accuracy": 0.1, "device": "cpu"}], ids=["fixed", "accuracy"]
)
def test_solves_refuse_it(how, tmp_path):
    with pytest.raises(pc.PcpinnError, match="no solution"):
        pc.solve(closed(lambda x: 4.0, -1.0), out=tmp_path / "run", **how)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "how", [QUICK | {"cells": (4, 4)}, {"accuracy": 0.1, "device": "cpu"}], ids=["fixed", "accuracy"]
)
def test_a_pin_inside_given_values_is_refused(how):
    sides = dict.fromkeys(SIDES, Dirichlet(0.0))
    problem = Problem(SQUARE, lambda x, u: u.grad, boundary=sides, pins=[Pin((0.5, 0.5), 1.0)])
    with pytest.raises(pc.PcpinnError, match=r"determine already\n.*leave the pin out"):
        pc.solve(problem, **how)


def test_on_an_interval_a_point_is_a_boundary():
    """u = 1 at 0.5 with u = 0 at both ends is a roof."""
    sides = {"left": Dirichlet(0.0), "right": Dirichlet(0.0)}
    problem = Problem(Interval(0, 1), lambda x, u: u.grad, boundary=sides, pins=[Pin((0.5,), 1.0)])
    assert pc.solve(problem, **QUICK | {"iterations": 40})([[0.25]])[0] == pytest.approx(0.5, abs=0.05)


def test_a_pin_of_a_march(tmp_path):
    sides = {**dict.fromkeys(SIDES, Dirichlet(0.0)), "initial": pc.Initial(0.0)}
    over_time = {"density": lambda x, u: u.value, "flux": lambda x, u: u.grad}
    problem = Problem(SQUARE.over(0, 1), boundary=sides, pins=[Pin((0.5, 0.5), 1.0)], **over_time)
    with pytest.raises(pc.PcpinnError, match="determine already"):
        pc.solve(problem, time="march", cells=(4, 4), steps=2, device="cpu")


@pytest.mark.parametrize(
    ("domain", "at"),
    [
        (Interval(0, 1), (5.0,)),
        (SQUARE - pc.Disk((0.5, 0.5), 0.2), (0.5, 0.5)),
        (SQUARE.over(0, 1), (0.5, 1.5)),
        (generate_mesh(SQUARE, cells=(2, 2)), (0.5, 1.5)),
    ],
    ids=["interval", "hole", "time", "mesh"],
)
def test_a_pin_outside_is_refused(domain, at):
    with pytest.raises(pc.PcpinnError, match="not in the domain"):
        Problem(domain, lambda x, u: u.grad, pins=[Pin(at)])


def test_a_rounded_point_of_a_curved_wall_is_one():
    Problem(pc.Disk((0, 0), 1.0), lambda x, u: u.grad, pins=[Pin((0.7072, 0.7072))])


def closed_flow(at):
    """Stokes' flow with values all around whose interpolation does not balance, pinned at a point."""

    def exact(x):
        y = 5 * x
        return torch.stack([torch.exp(y[0]) * torch.sin(y[1]), torch.exp(y[0]) * torch.cos(y[1])]) / 100

    return Problem(
        SQUARE,
        fields=[Field("u", components=2), Field("p", lower=1)],
        flux=lambda x, u, p: (u.grad - p.value * torch.eye(2, dtype=x.dtype), None),
        source=lambda x, u, p: (None, u.grad.trace()),
        boundary={side: {"u": Dirichlet(exact)} for side in SIDES},
        pins=[Pin(at=at, field="p")],
    )


def test_what_interpolation_leaves_unbalanced_does_not_flow_out_at_the_pin():
    mesh, found = generate_mesh(SQUARE, cells=(5, 5)), []
    for at in ((0.0, 0.0), (0.4, 0.6)):
        elements = FiniteElements(closed_flow(at), mesh, 2)
        found.append(solve_newton(DiscreteEquation(elements)))
    velocity = elements.unknown_components < 2
    assert abs(sum(one.total for one in imbalances(elements))) > 1e-6
    assert found[0][velocity] == pytest.approx(found[1][velocity], abs=1e-11)
    assert np.ptp((found[0] - found[1])[~velocity]) < 1e-9  # pressures differ by a constant


def channel(pin, outflow=2 / np.pi):
    """Stokes flow that starts: a profile comes in that polynomials follow roughly, another goes out."""
    zero, speed = Dirichlet([0.0, 0.0]), lambda q: Dirichlet(lambda x, t: torch.stack([torch.sin(t) * q(x), 0 * t]))
    boundary = {side: {"v": zero} for side in SIDES}
    boundary |= {
        "left": {"v": speed(lambda x: torch.sin(torch.pi * x[1]))},
        "right": {"v": speed(lambda x: outflow * 6 * x[1] * (1 - x[1]))},
        "initial": {"v": pc.Initial([0.0, 0.0])},
    }
    return Problem(
        SQUARE.over(0, 1),
        lambda x, v, p: (v.grad - p.value * torch.eye(2, dtype=x.dtype), None),
        lambda x, v, p: (None, v.grad[0, 0] + v.grad[1, 1]),
        density=lambda x, v, p: (v.value, None),
        boundary=boundary,
        fields=(Field("v", components=2, degree=2), Field("p", degree=1)),
        pins=[Pin(pin, field="p")],
    )


def test_over_time_a_pin_fixes_a_constant_and_nothing_else():
    mesh, found = generate_mesh(SQUARE, cells=(4, 4)), []
    for pin in ((0.0, 0.0), (0.5, 0.5)):
        space = MarchSpace(channel(pin), mesh, (0.0, 1.0), 2)
        found.append(march_discrete(space, "radau", 2, np.linspace(0, 1, 4)).values)
    off, p = found[1] - found[0], space.form.space.unknown_components == 2
    assert np.abs(found[0][:, p]).max() > 1
    assert np.ptp(off[1:, p], axis=1).max() < 1e-8  # without the rest spread evenly: 4e-2
    assert np.abs(off[:, ~p]).max() < 1e-8


def test_over_time_what_flows_in_must_flow_out():
    mesh = generate_mesh(SQUARE, cells=(4, 4))
    with pytest.raises(pc.PcpinnError, match=r"'p' has no solution.* add up to .* at t = "):
        MarchSpace(channel((0.0, 0.0), outflow=0.5), mesh, (0.0, 1.0), 2)
