"""Every family of the catalog: same anatomy, problems that are well posed, presets that every method can read."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.bench import suite
from pcpinn.catalog import FAMILIES, find_entry
from pcpinn.catalog.entry import FAMILY_PRESETS
from pcpinn.catalog.family_task import family_task
from pcpinn.catalog.find import find_family
from pcpinn.catalog.series import cosine_waves, sines
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.family.direct import direct_solution, direct_solutions
from pcpinn.family.discretise import make_system
from pcpinn.family.run import family_settings
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.build import make_mesh
from pcpinn.solve.method import FAMILY_METHODS

COMPANY = {"family", "pod", "nearest", "polynomial", "regression", "pino"}


@pytest.mark.parametrize("entry", FAMILIES, ids=FAMILIES.names())
def test_anatomy(entry):
    assert tuple(entry.presets) == FAMILY_PRESETS
    assert tuple(entry.queries) == FAMILY_PRESETS
    assert entry.family.base.name == entry.name
    assert all((entry.title, entry.equation, entry.domain, entry.conditions))
    assert set(FAMILY_METHODS.names()) >= COMPANY
    for preset in entry.presets:
        for method in COMPANY:
            assert family_task(entry.name, preset, {}, method).settings.method.name == method
    family_settings(entry.family, None, entry.fine)


@pytest.mark.parametrize("entry", FAMILIES, ids=FAMILIES.names())
def test_presets_are_read_whole(entry):
    """A key that the network of a preset does not have would be dropped in silence."""
    for name, preset in entry.presets.items():
        settings = family_task(entry.name, name, {}).settings
        known = {key for recipe in settings.recipes.values() for key in recipe.schema()} | set(settings.recipes)
        assert set(preset) <= known


@pytest.mark.parametrize("entry", FAMILIES, ids=FAMILIES.names())
def test_problems_have_solutions_on_coarse_meshes(entry):
    """At the ends of ranges too; the size of the answer changes with the parameters."""
    family = entry.family
    if "size" in entry.fine:
        coarse = {"size": 0.25}
    else:
        coarse = {"cells": (4,) * len(entry.fine["cells"])} | (
            {"steps": 3, "order": 2} if "steps" in entry.fine else {}
        )
    settings = family_settings(family, None, {**coarse, "degree": 2})
    system = make_system(family, make_mesh(family.base, settings), settings, torch.device("cpu"))
    ends = torch.stack(
        [0.9 * family.lower + 0.1 * family.middle, family.middle + 0.01 * (family.upper - family.middle)]
    )
    lower, upper = direct_solutions(system, ends)
    assert abs(lower).max() > 0
    assert abs(lower - upper).max() > 1e-3 * abs(lower).max()


def test_suite_and_names():
    assert suite("families") == tuple(FAMILIES.names())
    with pytest.raises(pc.PcpinnError, match="family of problems"):
        find_entry("diffusion-4")
    with pytest.raises(pc.PcpinnError, match="not a family"):
        find_family("poisson2d-c")


def test_sources_have_the_solution_of_the_series():
    """-Laplace u = pi / K^2 sum of a_ij (i^2 + j^2)^0.5 s_ij has u = 1 / (pi K^2) sum of a_ij (i^2 + j^2)^-0.5 s_ij."""
    family = FAMILIES.find("poisson-sources").family
    mu = torch.zeros(100, dtype=torch.float64)
    mu[[0, 11]] = torch.tensor([1.0, -0.5], dtype=torch.float64)  # (1, 1) and (2, 2)
    problem = family.at(mu)
    form = FiniteElements(problem, generate_mesh(problem.domain, cells=(8, 8)), 4)
    x = torch.tensor([[0.3, 0.6], [0.8, 0.1]], dtype=torch.float64)
    exact = torch.stack([mu @ sines(p, 10, -0.5) for p in x]) / (torch.pi * 100)
    assert form.interpolate(direct_solution(form), x.numpy())[:, 0] == pytest.approx(exact.numpy(), rel=1e-4)


def test_holes_grow():
    family = FAMILIES.find("poisson2d-c-holes").family
    rim = torch.tensor([[0.4, 0.3], [0.3, -0.2]], dtype=torch.float64)
    for scale in (0.7, 1.3):
        moved = torch.func.vmap(family.at([scale]).map)(rim)
        centre = torch.tensor([[0.3, 0.3], [0.3, -0.3]], dtype=torch.float64)
        assert (moved - centre).norm(dim=1).tolist() == pytest.approx([0.1 * scale] * 2)
    corner = torch.tensor([0.5, 0.5], dtype=torch.float64)
    assert family.at([1.3]).map(corner).tolist() == [0.5, 0.5]


def test_waves_in_order():
    assert cosine_waves(4) == [(1, 0), (0, 1), (1, 1), (2, 0)]
    assert len(set(cosine_waves(64))) == 64


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        (
            "wave1d-c-mode",
            lambda a, x: (
                np.sin(np.pi * x[:, 0]) * np.cos(2 * np.pi * x[:, 1])
                + 0.5 * np.sin(a * np.pi * x[:, 0]) * np.cos(2 * a * np.pi * x[:, 1])
            ),
        ),
        (
            "heat2d-ms-frequency",
            lambda k, x: (
                np.sin(k * np.pi * x[:, 0]) * np.sin(np.pi * x[:, 1]) * np.exp(-((k / 500) ** 2 + 1) * x[:, 2])
            ),
        ),
    ],
)
def test_families_in_time_have_the_solutions_of_the_formula(name, formula):
    """At a parameter that is no whole number; a wave with its rate as a field of its own."""
    family, wave = FAMILIES.find(name).family, name.startswith("wave")
    fine = (
        {"cells": (8,), "steps": 10, "scheme": "gauss", "order": 3}
        if wave
        else {"cells": (12, 1), "steps": 4, "order": 3}
    )
    settings = family_settings(family, None, {**fine, "degree": 4})
    system = make_system(family, make_mesh(family.base, settings), settings, torch.device("cpu"))
    mu = family.lower[None] + 0.5
    u, nodes = direct_solutions(system, mu)[0], system.nodes
    own = nodes.component_of == 0
    exact = formula(float(mu), nodes.points)[nodes.point_of]
    assert np.linalg.norm((u - exact)[own]) < 1e-2 * np.linalg.norm(exact[own])
    assert [f.name for f in family.base.unknowns] == (["u", "u_rate"] if wave else ["u"])
