"""Figures of a benchmark: what is drawn is what was measured."""

import numpy as np
from matplotlib.colors import to_hex

from pcpinn.bench.figures import convergence
from pcpinn.bench.graphics import colour
from pcpinn.bench.table import Summary
from pcpinn.train.history import History


def test_errors_along_a_training_are_drawn_beside_its_residual():
    history = History([(1, 0.5, 0.5), (2, 1.0, 0.02), (3, 1.5, 0.005)], {1: 0.9, 3: 0.2})
    silent = History([(1, 0.5, 0.5)])
    figure = convergence([(Summary("p", "pinn", "quick", "", ()), [(history, 0.2), (silent, None)])])
    for ax, x in zip(figure.axes, ([1, 3], [0.5, 1.5]), strict=True):
        (line,) = [l for l in ax.lines if l.get_marker() == "." and len(l.get_xdata())]
        np.testing.assert_allclose(line.get_xydata(), np.stack([x, [0.9, 0.2]], 1))
        assert to_hex(line.get_color()) == to_hex(colour("pinn"))
