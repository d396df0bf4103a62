"""Paper presets against the paper's appendix on its experiments, problem by problem."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from pcpinn import Adam, NewtonMethod, PcpinnError
from pcpinn.bench import suite
from pcpinn.catalog import CATALOG, INVERSE
from pcpinn.catalog.burgers2d_start import burgers2d_start
from pcpinn.mesh.slab_mesh import SlabMesh
from pcpinn.solve.build import make_mesh

SMALL, LARGE = (3, 64), (5, 128)  # hidden layers and their width: of two dimensions, time included, and of three


@dataclass(frozen=True)
class Paper:
    """What the paper says of a problem.

    Attributes:
        network: hidden layers, width.
        drop: tolerance of the ILU.
        cells: along each axis of its mesh, the last along time where time is a coordinate; None where it is not structured.
        nodes: of a mesh that is not structured, time included.
        iterations: of the training; in each sub-interval of a march, the first of which gets `first` of them.
        newton: Newton steps, if any.
        steps: sub-intervals of a march, and steps in each.
        gaussian: Fourier features from a normal distribution.
    """

    network: tuple[int, int]
    drop: float
    cells: tuple[int, ...] | None = None
    iterations: int = 20_000
    newton: int | None = None
    steps: tuple[int, int] | None = None
    first: int | None = None
    gaussian: bool = False
    nodes: int | None = None


PAPER = {
    "burgers1d-c": Paper(SMALL, 1e-4, (500, 20), newton=10),
    "burgers2d-c": Paper(LARGE, 1e-1, None, 2000, steps=(50, 10), first=40_000, nodes=12_657),
    "poisson2d-c": Paper(SMALL, 1e-3, nodes=10_602),
    "poisson2d-cg": Paper(SMALL, 1e-3, nodes=9382),
    "poisson3d-cg": Paper(LARGE, 1e-3, nodes=13_680),
    "poisson2d-ms": Paper(LARGE, 1e-3, (100, 100), gaussian=True),
    "heat2d-vc": Paper(LARGE, 1e-1, (20, 100, 100), gaussian=True),
    "heat2d-ms": Paper(LARGE, 1e-1, (500, 20, 20), 50_000),
    "heat2d-cg": Paper(LARGE, 1e-1, nodes=255_946),
    "heat2d-lt": Paper(LARGE, 1e-4, (20, 20), 1000, steps=(2000, 1), first=100_000),
    "ns2d-c": Paper(SMALL, 1e-4, (50, 50), newton=20),
    "ns2d-cg": Paper(SMALL, 1e-4, newton=20, nodes=2907),
    "ns2d-lt": Paper(LARGE, 1e-4, (60, 30), 1000, steps=(50, 1), first=100_000),
    "wave1d-c": Paper(SMALL, 1e-3, (100, 100)),
    "wave2d-cg": Paper(LARGE, 1e-4, (40, 40), 1000, steps=(50, 5), first=500_000),
    "wave2d-ms": Paper(LARGE, 1e-1, (10, 10, 1000), gaussian=True),
    "gs": Paper(LARGE, 1e-1, (128, 128), 1000, steps=(200, 1), first=20_000),
    "ks": Paper(LARGE, 1e-4, (500,), 15_000, steps=(1, 250)),
}


def test_all_problems_of_the_paper_are_here():
    assert set(PAPER) == set(suite("paper"))


@pytest.mark.parametrize("name", PAPER)
def test_network_and_optimiser(name):
    _, s = CATALOG.find(name).resolve("paper", {})
    n = s.network
    assert (n.depth, n.width) == PAPER[name].network
    assert (n.activation, n.initialisation) == ("silu", "torch")
    if PAPER[name].gaussian:
        assert (n.features, n.feature_count, n.feature_std) == ("gaussian", 128, math.pi)
    else:
        assert (n.features, n.feature_count, n.feature_low, n.feature_high) == ("log", 10, -5.0, 5.0)
    assert s.optimiser == Adam(1e-3, 0.9, 0.99, iterations=s.optimiser.iterations)
    assert s.loss.norm == "uniform"


@pytest.mark.parametrize("name", PAPER)
def test_preconditioner_and_mesh(name):
    """ILU with the paper's drop tolerance: what `auto` takes where time has no scheme of its own, and in a march."""
    _, s = CATALOG.find(name).resolve("paper", {})
    assert s.preconditioner.drop_tolerance == PAPER[name].drop
    assert s.preconditioner.name == ("stages" if s.marches else "ilu")
    assert s.marches or s.time is None or s.time.name == "simplex"
    assert (s.mesh.name, s.preconditioner.refinement) == ("fem", 0)
    cells = PAPER[name].cells
    if cells is not None:
        assert s.mesh.cells + ((s.time.steps,) if s.time and not s.marches else ()) == cells
    assert (cells is None) == (PAPER[name].nodes is not None)
    if s.marches:  # P_i of each step, applied as its factors or as the dense matrix that they are
        assert (s.preconditioner.coupled, s.preconditioner.solves) == (False, "auto")


_LONG = ("poisson3d-cg", "heat2d-cg")  # take half a minute to mesh


@pytest.mark.parametrize("name", [n for n, paper in PAPER.items() if paper.nodes and n not in _LONG])
def test_meshes_have_as_many_nodes(name):
    """The paper's files are not published."""
    parameters, s = CATALOG.find(name).resolve("paper", {})
    mesh = make_mesh(CATALOG.find(name).problem(**parameters), s)
    found = len((mesh.space if isinstance(mesh, SlabMesh) else mesh).simplices.nodes)
    assert abs(found / PAPER[name].nodes - 1) < 0.03


def test_domains():
    """Burgers' equation on the whole of [0, 4]^2 and waves in u alone, in this preset and no other."""
    for name, key, paper, ours in (("burgers2d-c", "side", 4, 1), ("wave2d-cg", "fields", 1, 2)):
        entry = CATALOG.find(name)
        assert {preset: entry.resolve(preset, {})[0] for preset in entry.presets} == {
            "quick": {key: ours}, "default": {key: ours}, "paper": {key: paper},
        }  # fmt: skip
    square = CATALOG.find("burgers2d-c").problem(side=4).domain.shape
    assert [list(corner) for corner in square.bounds] == [[0, 0], [4, 4]]
    assert [f.name for f in CATALOG.find("wave2d-cg").problem(fields=1).unknowns] == ["u"]
    with pytest.raises(PcpinnError, match=r"side=2\.5"):
        CATALOG.find("burgers2d-c").problem(side=2.5)
    with pytest.raises(PcpinnError, match="fields=3"):
        CATALOG.find("wave2d-cg").problem(fields=3)


def test_reference_of_the_whole_square():
    """Points in all sixteen cells, with the values of the one cell that they repeat."""
    one, all_cells = (CATALOG.find("burgers2d-c").reference(side=side) for side in (1, 4))
    np.testing.assert_array_equal(one.values, all_cells.values)
    np.testing.assert_allclose(all_cells.points[:, :2] % 1, one.points[:, :2] % 1, atol=1e-12)
    np.testing.assert_array_equal(all_cells.points[:, 2], one.points[:, 2])
    assert len(np.unique(np.floor(all_cells.points[:, :2]), axis=0)) == 16
    first = all_cells.points[all_cells.points[:, 2] == 0]
    start = np.stack([burgers2d_start().at(torch.from_numpy(x)).numpy() for x in first[::97]])
    np.testing.assert_allclose(start, all_cells.values[all_cells.points[:, 2] == 0][::97], atol=1e-5)


@pytest.mark.parametrize("name", PAPER)
def test_solver(name):
    """Time at once or in sub-intervals; Newton's method with equal shares of training, or the linear part alone."""
    _, s = CATALOG.find(name).resolve("paper", {})
    paper = PAPER[name]
    assert s.optimiser.iterations == paper.iterations
    if paper.steps is None:
        assert not s.marches
    else:
        t = s.time
        assert (t.steps // t.window, t.window) == paper.steps
        assert (t.linearisation, t.head_steps) == ("none", 0)
        assert t.scheme == ("second-difference" if name == "wave2d-cg" else "euler")
        assert t.cold_iterations == (paper.first or 0)
        assert (s.optimiser.patience or 0, t.tolerance <= 1e-9, t.halvings) == (0, True, 0)  # all iterations are taken
    if paper.newton is not None:
        assert s.newton == NewtonMethod(newton_iterations=paper.newton, forcing=0.0)


@pytest.mark.parametrize("name", PAPER)
def test_steps_of_a_sub_interval_are_weighted_by_causality(name):
    """w_i of Algorithm 3; where there is one step in each there is nothing to weigh."""
    _, s = CATALOG.find(name).resolve("paper", {})
    assert (s.marches and s.time.causality > 0) == (s.marches and s.time.window > 1)


@pytest.mark.parametrize("entry", [*map(CATALOG.find, PAPER), *INVERSE], ids=lambda e: e.name)
def test_deviations_are_told(entry):
    """With a reason each: a sentence, and no word twice."""
    assert len(set(entry.deviations)) == len(entry.deviations) > 1
    assert all(text.endswith(".") and len(text) > 40 for text in entry.deviations)
    _, s = entry.resolve("paper", {})
    told = " ".join(entry.deviations)
    if entry.home == "infer":
        assert "float64" in told
    else:
        assert "fill" in told
    if s.recipes.get("time") is not None and getattr(s, "marches", False):
        assert "float64" in told
        assert ("Causal weights" in told) == (s.time.window > 1)
    if getattr(s.network, "features", "") == "gaussian":
        assert "N(0, pi)" in told


@pytest.mark.parametrize(
    ("name", "cells", "coefficient", "warmup"),
    [("poisson-inv", (100, 100, None), LARGE, 10_000), ("heat-inv", (40, 40, 10), SMALL, 4000)],
)
def test_inverse_problems(name, cells, coefficient, warmup):
    parameters, s = INVERSE.find(name).resolve("paper", {})
    assert (parameters["noise"], parameters["points"]) == (0.1, 2500)
    assert (*s.mesh.cells, s.time and s.time.steps) == cells
    assert (s.network.depth, s.network.width) == SMALL
    assert (s.loss.coefficient_depth, s.loss.coefficient_width) == coefficient
    assert (s.loss.warmup, s.optimiser.iterations) == (warmup, 1000)
    assert (s.preconditioner.name, s.loss.refresh, s.optimiser.name, s.loss.prior) == ("jacobi", 1, "adam", "none")
