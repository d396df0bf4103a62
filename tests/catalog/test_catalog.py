"""Every catalog problem: same anatomy, solvable, with a reference that the discretisation converges to."""

import numpy as np
import pytest
import torch

from pcpinn.catalog import CATALOG, PRESETS
from pcpinn.catalog.published import best_baseline, paper_result, published_figures
from pcpinn.discretize.system import linear_system
from pcpinn.solve.build import make_discretisation, make_mesh
from pcpinn.solve.reference import compare


def discretisation_error(entry, preset, changes):
    parameters, settings = entry.resolve(preset, changes)
    problem, reference = entry.problem(**parameters), entry.reference(**parameters)
    system = linear_system(make_discretisation(problem, make_mesh(problem, settings), settings))
    values = system.discretisation.interpolate(system.solution, reference.points)
    return compare(values, reference, ["u"])["l2re"]


@pytest.mark.parametrize("entry", CATALOG.values(), ids=CATALOG)
def test_anatomy(entry):
    assert tuple(entry.presets) == PRESETS
    for preset in PRESETS:
        parameters, settings = entry.resolve(preset, {})
        assert entry.problem(**parameters).name == entry.name
        if preset == "paper":
            assert (settings.optimiser, settings.iterations, settings.weights) == ("adam", 20_000, "uniform")
    reference = entry.reference(**entry.parameters)
    assert reference.kind in ("exact", "certified")
    assert reference.error < 1e-6
    assert reference.note
    assert len(reference.points) == len(reference.values)


# Independent of the references' own certificates: finite elements approach them at the rate of their degree.
@pytest.mark.parametrize(
    ("name", "coarse", "fine", "ratio"),
    [
        ("poisson1d", {"cells": 8}, {"cells": 16}, 14),
        ("poisson2d-c", {"mesh_size": 0.1, "curvature": 1.5}, {"mesh_size": 0.05, "curvature": 3.0}, 5),
        ("poisson2d-cg", {"mesh_size": 0.16, "degree": 2}, {"mesh_size": 0.08, "degree": 2, "curvature": 4.0}, 5),
        ("wave1d-c", {"cells": 6, "time_cells": 24}, {"cells": 12, "time_cells": 48}, 12),
    ],
)
def test_finite_elements_converge_to_the_reference(name, coarse, fine, ratio):
    entry = CATALOG[name]
    assert discretisation_error(entry, "quick", coarse) > ratio * discretisation_error(entry, "quick", fine)


def test_the_papers_form_of_the_wave_agrees_with_the_formula():
    assert discretisation_error(CATALOG["wave1d-c"], "paper", {}) == pytest.approx(1.3e-2, rel=0.2)


@pytest.mark.parametrize(("name", "nodes"), [("poisson2d-c", 10602), ("poisson2d-cg", 9382)])
def test_paper_meshes_have_the_papers_size(name, nodes):
    entry = CATALOG[name]
    parameters, settings = entry.resolve("paper", {})
    assert len(make_mesh(entry.problem(**parameters), settings).nodes) == pytest.approx(nodes, rel=0.05)


def test_parameters_change_the_problem_and_its_reference():
    entry = CATALOG["poisson1d"]
    parameters, _ = entry.resolve("quick", {"P": "4"})
    assert entry.reference(**parameters).points.max() == pytest.approx(np.pi / 2)
    x = torch.tensor([0.3], dtype=torch.float64)
    assert float(entry.problem(**parameters).source(x, None)) == pytest.approx(-16 * np.sin(1.2))


def test_published_figures():
    assert len(published_figures()) > 600
    assert paper_result("poisson2d-c").mean == pytest.approx(3.98e-3)
    assert best_baseline("poisson2d-c").method == "NTK"
    assert paper_result("poisson1d") is None
