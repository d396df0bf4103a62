"""Complex numbers are refused wherever they could come in, with how to write real fields."""

import numpy as np
import pytest
import torch
from small import QUICK

import pcpinn as pc
from pcpinn import Dirichlet, Natural, Neumann, Robin

REMEDY = "fields=\\('p', 'q'\\)"
OTHER = {"left": Dirichlet(0.0)}


@pytest.mark.parametrize(
    "condition",
    [
        Robin(2 - 5j, 1.0),
        Robin(2.0, 1j),
        Neumann(1j),
        Neumann([1j]),
        Neumann(torch.tensor(1j)),
        Dirichlet(1j),
        Dirichlet(lambda x: torch.exp(1j * x[0])),
        Dirichlet(np.array(1j)),
        Natural(lambda x, n, u: 1j * u.value),
    ],
)
def test_conditions(condition):
    problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, boundary={**OTHER, "right": condition})
    with pytest.raises(pc.PcpinnError, match=f"complex\n.*{REMEDY}"):
        pc.solve(problem, **QUICK)


@pytest.mark.parametrize("what", ["flux", "source"])
def test_functions(what):
    functions = {"flux": lambda x, u: u.grad, "source": lambda x, u: u.value}
    functions[what] = (lambda x, u: (1 + 1j) * u.grad) if what == "flux" else (lambda x, u: 1j * u.value)
    sides = {**OTHER, "right": Dirichlet(1.0)}
    with pytest.raises(pc.PcpinnError, match=f"{what} of field 'u' is complex"):
        pc.solve(pc.Problem(pc.Interval(0, 1), boundary=sides, **functions), **QUICK)


def test_numbers_from_outside():
    with pytest.raises(pc.PcpinnError, match=REMEDY):
        pc.Pin(at=(0.0,), value=1j)
    with pytest.raises(pc.PcpinnError, match="data is complex"):
        pc.Observations([[0.5]], [1j])
    with pytest.raises(pc.PcpinnError, match="a reference is complex"):
        pc.Reference([[0.5]], np.array([[1j]]))
