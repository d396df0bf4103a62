"""Fields of very different units, and fields that vanish: solved to an accuracy by their own norms."""

import numpy as np
import torch

import pcpinn as pc


def test_volts_beside_ions_per_cubic_metre_reach_the_accuracy_by_their_true_errors():
    charge, thermal, permittivity, half = 1.602e-19, 4.11e-21, 7.08e-10, 5e-9  # ions of one sort between charged walls
    k = 1.2 / half
    middle = 2 * k**2 * permittivity * thermal / charge**2
    problem = pc.Problem(
        pc.Interval(-half, half, name="walls"),
        fields=["phi", "c"],
        flux=lambda x, phi, c: (permittivity * phi.grad, 1e-9 * (c.grad + charge / thermal * c.value * phi.grad)),
        source=lambda x, phi, c: (-charge * c.value, None),
        boundary={
            "walls": {
                "phi": pc.Dirichlet(float(2 * thermal / charge * np.log(np.cos(1.2)))),
                "c": pc.Dirichlet(float(middle / np.cos(1.2) ** 2)),
            }
        },
    )
    solution = pc.solve(problem, accuracy=1e-2)
    x = np.linspace(-half, half, 500)[:, None]
    cos = np.cos(k * x[:, 0])
    for name, true in (("phi", 2 * thermal / charge * np.log(cos)), ("c", middle / cos**2)):
        error = np.linalg.norm(solution(x, name).ravel() - true) / np.linalg.norm(true)
        assert error < 1e-2
        assert 0.5 * error < solution.verdict.fields[name] < 2 * error
    assert solution.verdict.reached


def test_a_field_that_vanishes_does_not_keep_the_accuracy_from_being_reached():
    problem = pc.Problem(
        pc.Interval(0, 1),
        fields=["u", "q"],  # -u'' = 0 and q = u' - 1, which is zero
        flux=lambda x, u, q: (u.grad, None),
        source=lambda x, u, q: (0.0, q.value - u.grad[0] + 1),
        boundary={"left": {"u": pc.Dirichlet(0.0)}, "right": {"u": pc.Dirichlet(1.0)}},
    )
    solution = pc.solve(problem, accuracy=1e-2)
    assert solution.verdict.reached
    assert np.abs(solution(np.linspace(0, 1, 50)[:, None], "q")).max() < 1e-2


def test_nothing_is_found_to_be_zero():
    problem = pc.Problem(pc.Interval(0, 1, name="ends"), flux=lambda x, u: u.grad, boundary={"ends": pc.Dirichlet(0.0)})
    solution = pc.solve(problem, accuracy=1e-2)
    assert solution.verdict.reached
    assert np.abs(solution(torch.linspace(0, 1, 20).double()[:, None]).detach().numpy()).max() < 1e-2
