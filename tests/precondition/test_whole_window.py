"""P of a window by factors of all of it, where the stages of a step differ a hundredfold."""

import numpy as np
import torch

import pcpinn as pc
from pcpinn.discretize.step_scheme import Layers, step_scheme
from pcpinn.discretize.window import MarchSpace, Window
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition import Stages
from pcpinn.precondition.whole_window import WholeWindow


def ramped():
    """Conductivity rises a hundredfold within the step."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, t, u: (0.01 + t**4) * u.grad,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Neumann(0.0), "initial": pc.Initial(1.0)},
    )
    space = MarchSpace(problem, generate_mesh(pc.Interval(0, 1), cells=[8]), (0.0, 1.0), 2)
    layers = Layers(step_scheme("radau", 3), np.array([0.0, 1.0]), first=True)
    known = torch.ones(layers.history, space.size, dtype=torch.float64)
    return Window(space, layers, known).linearise(torch.zeros(layers.count, space.size, dtype=torch.float64))


def test_it_is_the_inverse_where_that_of_the_mean_is_not():
    matrix = ramped()
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(matrix.layers.count, matrix.space.size)))
    whole, mean = WholeWindow(matrix).on(matrix), Stages().build(matrix).on(matrix)
    assert torch.allclose(whole.apply(matrix.apply(x)), x, atol=1e-9)
    assert torch.allclose(matrix.apply_transpose(whole.apply_transpose(x)), x, atol=1e-9)
    assert (mean.apply(matrix.apply(x)) - x).norm() > 0.3 * x.norm()
