"""Studies: sizes, folders, and what each one shows at a tiny size."""

import csv
import json

import numpy as np
import pytest
import torch

from pcpinn import PcpinnError
from pcpinn.study import STUDIES, conduct, find_study, inverse_robustness, read_study, scaling, write_study
from pcpinn.study.fit import linear_fit, min_max
from pcpinn.study.landscape import Plane
from pcpinn.study.scaling import conjugate_gradients

TINY = {
    "poisson1d": {"P": "3", "meshes": "10,50", "elements": "10"},
    "wave": {
        "values": "3",
        "cells": "8",
        "width": "6",
        "depth": "2",
        "points": "32",
        "iterations": "10",
        "trials": "2",
    },
    "helmholtz": {"values": "3", "cells": "10", "width": "6", "depth": "2", "points": "32", "iterations": "10"},
    "burgers": {"values": "3", "cells": "4", "width": "6", "depth": "2", "points": "32", "iterations": "10"},
    "error-control": {"mesh_size": "0.2", "iterations": "40", "width": "8", "drop_tolerances": "1e-1,1e-4"},
    "landscape": {
        "cells": "6",
        "width": "8",
        "points": "32",
        "iterations": "20",
        "marks": "5",
        "grid": "4",
        "test": "50",
    },
    "ntk": {"width": "4", "depth": "1", "iterations": "5", "moments": "3"},
    "scaling": {"mesh_sizes": "0.2,0.1", "iterations": "3", "width": "8"},
    "inverse-comparison": {
        "seeds": "1",
        "points": "25",
        "cells": "1",
        "iterations": "1",
        "pinn_iterations": "2",
        "adjoint_iterations": "1",
    },
    "inverse-robustness": {
        "usual_points": "49",
        "noise_percent": "10",
        "points": "25",
        "clusters": "3",
        "outlier_percent": "5",
        "cells": "1",
        "iterations": "1",
    },
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Data of a study, computed once; its folder. That of scaling is made in the plane, which is meshed in no time, that of
    inverse-robustness by another method (see test_inverse_studies for its own)."""
    done = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "_PROBLEM", "poisson2d-c")
        patch.setattr(inverse_robustness, "METHOD", "adjoint")
        yield from _tiny(tmp_path_factory, done)


def _tiny(tmp_path_factory, done):

    def made(name):
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            study = find_study(name)
            data = conduct(study, changes=TINY[name], device="cpu", problem="poisson1d" if name == "ntk" else None)
            done[name] = data, folder, write_study(study, data, folder)
        return done[name]

    yield made


def test_all_are_here():
    assert set(TINY) == set(STUDIES.names())
    for study in STUDIES:
        assert set(study.small) == set(study.full)
        assert study.statement


@pytest.mark.parametrize("name", TINY)
def test_folders_are_complete_and_agree(name, tiny):
    data, folder, written = tiny(name)
    assert {p.name for p in written} >= {"result.json", "rows.csv", "figure.png", "study.md"}
    assert all(p.exists() for p in written)
    assert not list(folder.glob(".*"))
    assert read_study(find_study(name), folder) == data == json.loads(json.dumps(data, allow_nan=False))
    rows = list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))
    assert len(rows) == len(data["rows"])
    for text, row in zip(rows, data["rows"], strict=True):
        assert {k: v for k, v in text.items() if v} == {k: str(v) for k, v in row.items() if v is not None}
    page = (folder / "study.md").read_text()
    assert f"pcpinn study {name}" in page
    assert find_study(name).statement in page
    assert all(sentence in page for sentence in find_study(name).words(data))
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_poisson1d_is_near_theory(tiny):
    data, _, _ = tiny("poisson1d")
    assert [row["theory"] for row in data["rows"]] == pytest.approx([4 / 9])
    assert data["summary"]["largest_deviation"] < 0.02
    assert data["summary"]["deviations"]["FDM 50"] < data["summary"]["deviations"]["FDM 10"]


def test_correlations(tiny):
    wave, _, _ = tiny("wave")
    assert [row["C"] for row in wave["rows"]] == [1.1, 1.6, 5.0]
    x = np.array([row["normalised"] for row in wave["rows"]])
    assert (x.min(), x.max()) == (0, 1)
    conditions = np.log([row["condition"] for row in wave["rows"]])
    np.testing.assert_allclose(x, (conditions - conditions.min()) / np.ptp(conditions))
    y = np.log10([row["l2re"] for row in wave["rows"]])
    assert wave["summary"]["r"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert wave["summary"]["networks"] == 6
    assert wave["along"][-1]["r"] == pytest.approx(wave["summary"]["r"])
    assert {h["C"] for h in wave["history"]} == {1.1, 1.6, 5.0}
    helmholtz, _, _ = tiny("helmholtz")
    said = {name: " ".join(find_study(name).words(data)) for name, data in (("wave", wave), ("helmholtz", helmholtz))}
    assert ["contains the exact solution" in said[name] for name in ("wave", "helmholtz")] == [False, True]
    for row in helmholtz["rows"]:  # ||F^-1|| = 1 / (2 pi^2 - 1), ||f|| / ||u|| = 2 pi^2 A^2 - 1
        assert row["condition"] == pytest.approx((2 * np.pi**2 * row["A"] ** 2 - 1) / (2 * np.pi**2 - 1), rel=0.15)
    assert [row["nu"] for row in tiny("burgers")[0]["rows"]] == pytest.approx([0.01, 0.1, 1.0])


def test_the_bound_of_the_error_holds(tiny):
    data, _, _ = tiny("error-control")
    assert data["summary"]["bound_holds"]
    none, coarse, fine = data["rows"]
    assert [row["drop_tolerance"] for row in data["rows"]] == ["none", "0.1", "0.0001"]
    assert none["condition"] > coarse["condition"] > fine["condition"] == pytest.approx(1.0, abs=0.01)
    conditions = {row["drop_tolerance"]: row["condition"] for row in data["rows"]}
    for h in data["history"]:
        assert h["error"] <= conditions[h["drop_tolerance"]] * h["residual"] * (1 + 1e-4)


def test_the_bound_of_the_rate_holds(tiny):
    data, _, _ = tiny("ntk")
    assert data["problem"] == "poisson1d"
    assert data["summary"]["bound_holds"]
    assert [row["iteration"] for row in data["rows"] if row["loss"] == "none"] == [0, 1, 2, 5]
    spectrum = [s["eigenvalue"] for s in data["spectra"] if (s["loss"], s["iteration"]) == ("preconditioned", 5)]
    last = data["rows"][-1]
    assert sum(spectrum) == pytest.approx(last["rate"])


def test_landscapes_hold_their_paths(tiny):
    data, _, _ = tiny("landscape")
    for method in ("pinn", "pcpinn"):
        path = [row for row in data["rows"] if row["method"] == method]
        surface = [s for s in data["surface"] if s["method"] == method]
        assert len(surface) == 16
        assert path[-1]["first"] == path[-1]["second"] == 0
        for axis in ("first", "second"):
            assert min(s[axis] for s in surface) < min(p[axis] for p in path)
            assert max(s[axis] for s in surface) > max(p[axis] for p in path)
    start = [row["l2re"] for row in data["rows"] if row["iteration"] == 0]
    assert start[0] == pytest.approx(start[1])  # the same weights


def test_planes_of_flat_paths_hold_all_of_them():
    random = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(7, 2, generator=random, dtype=torch.float64))[0].T
    path = torch.randn(9, 2, generator=random, dtype=torch.float64) @ basis + 3.0
    plane = Plane(path)
    assert plane.captured == pytest.approx(1.0)
    for theta, (a, b) in zip(path, plane.path, strict=True):
        torch.testing.assert_close(plane.point(a, b), theta)


def test_scaling_is_relative_to_the_smallest(tiny):
    data, _, _ = tiny("scaling")
    sizes = [row["unknowns"] for row in data["rows"]]
    assert sizes == sorted(sizes)
    assert data["rows"][0]["relative_ilu"] == data["rows"][0]["relative_pcpinn"] == 1.0
    assert data["rows"][-1]["relative_pcg"] == pytest.approx(data["rows"][-1]["pcg_s"] / data["rows"][0]["pcg_s"])


def test_conjugate_gradients():
    random = np.random.default_rng(0)
    M = random.normal(size=(30, 30))
    A, u = M @ M.T + 30 * np.eye(30), random.normal(size=30)
    found, iterations = conjugate_gradients(A, A @ u, lambda r: r / A.diagonal())
    np.testing.assert_allclose(found, u, atol=1e-6)
    assert iterations <= 30
    with pytest.raises(PcpinnError, match="did not converge"):
        conjugate_gradients(A, A @ u, lambda r: r, most=2)


@pytest.mark.parametrize(
    "broken", [{"study": "wave"}, {"study": "scaling"}, {"study": "wave", "rows": 3, "summary": {}}]
)
def test_broken_data_are_refused(broken, tmp_path):
    (tmp_path / "result.json").write_text(json.dumps(broken))
    with pytest.raises(PcpinnError):
        read_study(find_study("wave"), tmp_path)


def test_sizes_are_checked():
    study = find_study("wave")
    assert study.sizes(False, {"iterations": "7"})["iterations"] == 7
    assert study.sizes(True, {})["iterations"] == 20_000
    assert find_study("poisson1d").sizes(False, {"meshes": "5,6"})["meshes"] == (5, 6)
    for changes in ({"iteration": "7"}, {"iterations": "7.5"}, {"iterations": "-1"}, {"width": "many"}):
        with pytest.raises(PcpinnError):
            study.sizes(False, changes)
    with pytest.raises(PcpinnError, match="at least one"):
        find_study("poisson1d").sizes(False, {"meshes": ","})


def test_lines():
    assert linear_fit([1, 2, 3, 4], [2, 4, 6, 8.0])["r"] == pytest.approx(1.0)
    assert linear_fit([1, 2, 3], [5, 3, 1.0])["slope"] == pytest.approx(-2.0)
    assert linear_fit([1, 2, np.nan], [1, 2, 3.0])["r"] is None
    assert min_max([3, 1, 2]).tolist() == [1, 0, 0.5]
    assert min_max([2, 2]).tolist() == [0, 0]
