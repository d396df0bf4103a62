"""Pressures are found by their equations, and get elements that leave none of them free."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.saddle import multipliers, with_stable_degrees

SQUARE = pc.Rectangle((0, 0), (1, 1), name="walls")


def flow(fields=("u", "p"), continuity="source", density=False, **more):
    """Slow flow in a box, u of two components; div u = 0 as a source or as a flux."""
    by_source = continuity == "source"
    return pc.Problem(
        SQUARE.over(0, 1) if density else SQUARE,
        fields={fields[0]: 2, fields[1]: 1},
        density=(lambda x, u, p: (u.value, 0 * p.value)) if density else None,
        flux=lambda x, u, p: (u.grad - p.value * torch.eye(2, dtype=x.dtype), None if by_source else u.value),
        source=lambda x, u, p: (-torch.stack([torch.sin(3 * x[1]), x[0]]), u.grad.trace() if by_source else None),
        boundary={"walls": {fields[0]: pc.Dirichlet(0.0)}}
        | ({"initial": {fields[0]: pc.Initial(0.0)}} if density else {}),
        pins=[pc.Pin((0.0, 0.0), field=fields[1])],
        **more,
    )


def test_the_pressure_of_darcys_law_is_found():
    """q + grad p = 0 and div q = f: q has no diffusion, but its value; over time it might be a field of a wave."""

    def darcy(domain, **more):
        return pc.Problem(
            domain,
            fields={"q": 2, "p": 1},
            flux=lambda x, q, p: (-p.value * torch.eye(2), None),
            source=lambda x, q, p: (q.value, q.grad.trace() - 1.0),
            **more,
        )

    assert multipliers(darcy(SQUARE)) == ("p",)
    assert multipliers(darcy(SQUARE.over(0, 1), density=lambda x, q, p: (q.value, p.value))) == ()


def three():
    """The same with components as fields of their own, and the gradient of p as a source."""
    return pc.Problem(
        SQUARE,
        fields=["a", "b", "p"],
        flux=lambda x, a, b, p: (a.grad, b.grad, None),
        source=lambda x, a, b, p: (p.grad[0] - x[1], p.grad[1], a.grad[0] + b.grad[1]),
        boundary={"walls": {"a": pc.Dirichlet(0.0), "b": pc.Dirichlet(0.0)}},
        pins=[pc.Pin((0.0, 0.0), field="p")],
    )


@pytest.mark.parametrize(
    "problem",
    [flow(), flow(continuity="flux"), flow(density=True), three()],
    ids=["source", "flux", "over time", "components"],
)
def test_pressures(problem):
    assert multipliers(problem) == ("p",)
    stable, names = with_stable_degrees(problem)
    assert names == ("p",)
    assert [f.lower for f in stable.unknowns] == [int(f.name == "p") for f in problem.unknowns]


def plate():
    """Two equations of second order: w is not in its own, and no pressure."""
    sides = {"walls": {"w": pc.Dirichlet(0.0), "m": pc.Dirichlet(0.0)}}
    return pc.Problem(
        SQUARE, lambda x, w, m: (m.grad, w.grad), lambda x, w, m: (-1.0, m.value), sides, fields=["w", "m"]
    )


def compressible():
    problem = flow()
    return pc.Problem(
        SQUARE,
        problem.flux,
        lambda x, u, p: (problem.source(x, u, p)[0], u.grad.trace() + 0.1 * p.value),
        {"walls": {"u": pc.Dirichlet(0.0)}},
        fields={"u": 2, "p": 1},
    )


@pytest.mark.parametrize("problem", [plate(), compressible()], ids=["plate", "compressible"])
def test_others_stay_as_they_are(problem):
    assert with_stable_degrees(problem) == (problem, ())


def test_degrees_that_are_said_stay():
    fields = [pc.Field("u", components=2, degree=2), pc.Field("p", degree=2)]
    problem = flow()
    said = pc.Problem(SQUARE, problem.flux, problem.source, problem.boundary, fields=fields, pins=problem.pins)
    assert with_stable_degrees(said) == (said, ())


def test_a_flow_as_a_newcomer_writes_it():
    """With elements of the same degree Newton's method was said not to converge."""
    given = {"mesh": pc.Meshing(cells=(4, 4), degree=2), "width": 6, "iterations": 2, "device": "cpu"}
    solution = pc.solve(flow(), {"accuracy": None, "certify": False}, **given)
    assert [f.lower for f in solution.fields] == [0, 1]
    assert np.isfinite(solution([[0.3, 0.4]])).all()
