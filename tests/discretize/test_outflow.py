"""Values where a quantity that is only carried along leaves the domain are refused; all others pass."""

import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.outflow import refuse_outflow
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh

LINE, SQUARE = pc.Interval(0, 1), pc.Rectangle((0, 0), (1, 1))
HOLED = SQUARE - pc.Disk((0.5, 0.5), 0.2, name="hole")


def carried(shape, given, speed, diffusion=0.0, conserved=False, mass=1.0, steady=False):
    """mass u_t + speed . grad u = diffusion Laplace u, or the same as a flux; values given on some boundaries."""
    boundary = dict.fromkeys(given, pc.Dirichlet(0.0))

    def velocity(x, u):
        return speed(x) if callable(speed) else torch.tensor(speed, dtype=x.dtype)

    return pc.Problem(
        shape if steady else shape.over(0, 1),
        density=None if steady else (lambda x, u: mass * u.value),
        flux=lambda x, u: diffusion * u.grad - (velocity(x, u) * u.value if conserved else 0 * x),
        source=None if conserved else (lambda x, u: velocity(x, u) @ u.grad),
        boundary=boundary if steady else {**boundary, "initial": pc.Initial(0.0)},
    )


@pytest.mark.parametrize(
    ("problem", "boundary"),
    [
        (carried(LINE, ["left", "right"], (2.0,)), "right"),
        (carried(LINE, ["left", "right"], (2.0,), mass=-1.0), "left"),
        (carried(LINE, ["right"], (2.0,), conserved=True), "right"),
        (carried(SQUARE, ["left", "top"], (1.0, 0.5)), "top"),
        (carried(SQUARE, ["left", "right"], (1.0, 0.5), steady=True), "right"),
        (carried(HOLED, ["hole"], lambda x: torch.stack([0.5 - x[0], 0.5 - x[1]])), "hole"),
    ],
)
def test_outflow_is_refused(problem, boundary):
    shape = problem.domain.shape if problem.over_time else problem.domain
    with pytest.raises(PcpinnError, match=f"values are given on '{boundary}'"):
        refuse_outflow(problem, generate_mesh(shape, size=0.3))


@pytest.mark.parametrize(
    "problem",
    [
        carried(LINE, ["left"], (2.0,)),
        carried(LINE, ["left", "right"], (2.0,), diffusion=0.01),
        carried(SQUARE, ["left", "bottom", "top"], (1.0, 0.0)),  # along them
        carried(SQUARE, ["left"], lambda x: torch.stack([x[1] - 0.5, 0 * x[0]])),  # in and out
        carried(HOLED, ["hole"], lambda x: torch.stack([x[0] - 0.5, x[1] - 0.5])),
        pc.Problem(
            LINE.over(0, 1),
            density=lambda x, u: u.value,
            source=lambda x, u: u.value * u.grad[0],  # which way depends on u
            boundary={"left": pc.Dirichlet(1.0), "right": pc.Dirichlet(-1.0), "initial": pc.Initial(0.0)},
        ),
    ],
    ids=["inflow", "diffusion", "along", "both", "source", "nonlinear"],
)
def test_others_pass(problem):
    refuse_outflow(problem, generate_mesh(problem.domain.shape, size=0.3))


def test_a_solve_refuses_it_before_it_begins():
    with pytest.raises(PcpinnError, match="leaves the domain"):
        pc.solve(carried(LINE, ["left", "right"], (2.0,)), accuracy=1e-2, device="cpu")


def test_the_doctor_says_it_too():
    found = pc.diagnose(carried(LINE, ["left", "right"], (2.0,))).findings
    assert [f.topic for f in found if f.severity == "problem"] == ["well-posed"]
    assert any("leaves the domain" in f.sentence for f in found)
