"""A solution in a notebook: picture, verdict, errors; figures that are handed over."""

import base64
import re
import sys
import types

import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import pcpinn as pc
from pcpinn import PcpinnError
from pcpinn.solution.card import plus_minus

matplotlib.use("agg")


@pytest.fixture(scope="module")
def solution():
    square = pc.Rectangle((0, 0), (1, 1))
    boundary = {name: pc.Dirichlet(0.0) for name in ("left", "right", "bottom", "top")}
    problem = pc.Problem(
        square, flux=lambda x, u: u.grad, source=lambda x, u: -1.0, boundary=boundary, name="a <b> plate"
    )
    return pc.solve(problem, mesh=pc.Meshing(size=0.5, degree=1), width=4, depth=1, iterations=2)


@pytest.mark.filterwarnings("ignore::pcpinn.errors.PcpinnWarning")
def test_the_card_has_picture_verdict_and_errors(solution):
    page = solution._repr_html_()
    (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(data).startswith(b"\x89PNG")
    assert "NOT REACHED" in page
    assert f"estimated relative L2 error: {solution.errors['estimate']:.1e}" in page
    assert "a &lt;b&gt; plate" in page
    assert "<b>" not in page
    assert len(repr(solution)) < 200
    assert "\n" not in repr(solution)


def test_a_card_without_matplotlib_says_so(solution, monkeypatch):
    monkeypatch.setitem(sys.modules, "pcpinn.solution.picture", None)
    monkeypatch.delattr("pcpinn.solution.picture")
    page = solution._repr_html_()
    assert "<img" not in page
    assert "pictures need" in page
    assert "estimated relative L2 error" in page


def test_figures_are_axes(solution):
    points = pc.Reference([[0.5, 0.5], [0.2, 0.3], [0.7, 0.2], [0.3, 0.8]], [0.07, 0.04, 0.04, 0.04])
    axes = solution.plot(reference=points)
    try:
        assert [isinstance(ax, Axes) for ax in axes] == [True, True]
        assert [ax.get_title() for ax in axes] == ["u", "error of u, against the exact solution"]
        bars = [ax.get_ylabel() for ax in axes[0].figure.axes if ax not in list(axes)]
        assert bars == ["u", "|error of u|"]
        assert axes[0].figure in map(pyplot.figure, pyplot.get_fignums())
    finally:
        pyplot.close("all")


def test_show_displays_the_card_in_a_notebook(solution, monkeypatch):
    shown = []
    display = types.ModuleType("IPython.display")
    display.display = shown.append
    for name, module in (("ipykernel", types.ModuleType("ipykernel")), ("IPython.display", display)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    solution.show()
    assert shown == [solution]


def test_show_needs_a_screen(solution):
    with pytest.raises(PcpinnError, match="no screen"):
        solution.show()


@pytest.mark.parametrize(
    ("value", "std", "words"),
    [(1.23456, 0.0123, "1.235 ± 0.012"), ([1.0, 20.0], [0.5, 3.0], "1.00 ± 0.50, 20.0 ± 3.0"), (150.0, 12.0, "150 ± 12"),
     (2.0, None, "2"), (1.0, 0.0, "1"), (1e-9, 2e-11, "1e-09 ± 2.0e-11")],
)  # fmt: skip
def test_values_with_deviations(value, std, words):
    assert plus_minus(value, std) == words
