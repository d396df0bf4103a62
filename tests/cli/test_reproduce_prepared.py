"""pcpinn reproduce and bench with prepared problems: the same numbers where there is no mesher."""

import json
import re
import sys

import pytest
from typed import run

from pcpinn.bench import BenchFolder, read_rows

SMALL = [
    f"--set={change}"
    for change in ("size=0.3", "degree=1", "width=4", "depth=1", "features=none", "iterations=3", "certify=false")
]
COMMON = ["table-3", "--preset", "quick", "--seeds", 1, "--problems", "poisson2d-c", *SMALL]


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The folder of table-3 in small, written without running anything."""
    return tmp_path_factory.mktemp("packed")


def numbers(path):
    return {
        r.key: (r.l2re, r.l1re, r.mse, r.condition, r.applied_error, r.quality, r.dofs)
        for r in read_rows(path / "bench" / "results.csv")
    }


def test_one_file_for_all_variants_and_none_twice(capfd, packed):
    code, out, _ = run(capfd, "reproduce", *COMMON, "--prepare", packed)
    assert code == 0
    (file,) = packed.iterdir()
    assert out == f"{file}\n"
    code, out, _ = run(capfd, "reproduce", *COMMON, "--prepare", packed)
    assert (code, out) == (0, f"all of it is in {packed}\n")


def test_the_same_numbers_without_a_mesher(capfd, packed, tmp_path, monkeypatch):
    run(capfd, "reproduce", *COMMON, "--prepare", packed)
    assert run(capfd, "reproduce", *COMMON, "--device", "cpu", "--out", tmp_path / "here")[0] == 0
    for module in ("netgen", "netgen.occ", "netgen.meshing"):
        monkeypatch.setitem(sys.modules, module, None)
    code, out, _ = run(capfd, "reproduce", *COMMON, "--device", "cpu", "--out", tmp_path / "lacks", "--json")
    assert code == 1
    assert all("netgen" in why for why in json.loads(out)["failed"].values())
    words = ["--device", "cpu", "--out", tmp_path / "there", "--prepared", packed]
    code, _, err = run(capfd, "reproduce", *COMMON, *words)
    assert code == 0, err
    there = numbers(tmp_path / "there")
    assert there == numbers(tmp_path / "here")
    assert len(there) == 5  # four tolerances, and no P


def test_baselines_share_a_file_and_have_another_than_ours(capfd, tmp_path):
    words = ["table-2", "--preset", "quick", "--seeds", 2, "--problems", "poisson2d-c", "--methods", "pcpinn,pinn,lra"]
    code, out, _ = run(capfd, "reproduce", *words, "--set=size=0.3", "--prepare", tmp_path)
    assert code == 0
    names = {re.sub("-[0-9a-f]{8}$", "", line.rsplit("/", 1)[1].removesuffix(".pcpinn")) for line in out.split()}
    assert len(out.split()) == 2
    assert {"poisson2d-c-quick"} < names
    assert any("pinnacle-quick" in name for name in names)


def test_bench_takes_the_folder(capfd, packed, tmp_path):
    run(capfd, "reproduce", *COMMON, "--prepare", packed)
    words = ["bench", "--problems", "poisson2d-c,poisson2d-cg", "--presets", "quick", "--device", "cpu", *SMALL[2:]]
    code, _, err = run(capfd, *words, "--set=degree=1", "--set=size=0.3", "--prepared", packed, "--out", tmp_path / "b")
    assert code == 0, err
    assert "poisson2d-cg (quick)" in err
    assert "poisson2d-c (quick)" not in err
    files = [p.cell.file for plan in BenchFolder(tmp_path / "b").plans() for p in plan.cells]
    assert [bool(file) for file in files] == [True, False]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["table-3", "--prepared", "nowhere"], "no prepared problem"),
        (["figure-2a", "--prepared", "nowhere"], "studies mesh themselves"),
        (["figure-2a", "--prepare", "nowhere"], "nothing to prepare"),
        (["--prepare", "nowhere"], "name IDs"),
        (["table-3", "--prepare", "a", "--prepared", "b"], "--prepare runs nothing"),
        (["table-3", "--prepared", "a", "--from", "b"], "--from runs nothing"),
    ],
)
def test_what_does_not_fit_is_refused(capfd, tmp_path, monkeypatch, words, part):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capfd, "reproduce", *words, "--preset", "quick")
    assert code == 2
    assert part in " ".join(err.split())
    assert not any(tmp_path.iterdir())
