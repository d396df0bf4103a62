"""pcpinn bench and pcpinn report, as a user types them."""

import csv
import json
import sys

import pytest
from typed import run

from pcpinn.bench import runner

TINY = ["--problems", "poisson1d", "--presets", "quick", "--device", "cpu"]
for change in ("cells=6", "degree=2", "width=4", "depth=1", "feature_count=1", "iterations=3", "certify=false"):
    TINY += ["--set", change]


@pytest.fixture
def bench(capfd, tmp_path):
    """A finished benchmark: folder, standard output, standard error."""
    code, out, err = run(capfd, "bench", *TINY, "--trials", 2, "--out", tmp_path / "b")
    assert code == 0
    return tmp_path / "b", out, err


def test_bench_runs_shows_and_records(bench):
    folder, out, err = bench
    assert "[2/2] poisson1d pcpinn quick" in err
    assert "mean (std) over trials" in out
    assert f"pcpinn report {folder}" in out
    rows = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert [r["seed"] for r in rows] == ["0", "1"]
    assert "| **poisson1d** |" in (folder / "table.md").read_text()


def test_again_it_computes_nothing(bench, capfd, monkeypatch):
    folder, out, _ = bench
    monkeypatch.setattr(runner, "run_cell", lambda *a: pytest.fail("ran again"))
    code, again, err = run(capfd, "bench", *TINY, "--trials", 2, "--out", folder)
    assert (code, again) == (0, out)
    assert "2 of 2 runs are finished already" in err
    assert run(capfd, "bench", "--out", folder)[:2] == (0, out)  # alone: all that the folder asks for


def test_json_is_one_object(capfd, tmp_path):
    code, out, err = run(
        capfd, "bench", *TINY, "--sweep", "drop_tolerance=1e-3,none", "--out", tmp_path / "b", "--json"
    )
    assert code == 0
    result = json.loads(out)
    assert (result["runs"], result["finished"], result["failed"]) == (2, 2, 0)
    (sweep,) = result["sweeps"]
    assert [line[0] for line in sweep["lines"]] == ["0.001", "none"]
    assert "condition" in sweep["columns"]
    assert "drop_tolerance" in err


def test_failures_end_with_code_1(capfd, tmp_path):
    """And with a reason; the rest is there."""
    sweep = ["--sweep", "mesh:degree=fem:2,fem:9"]
    code, out, err = run(capfd, "bench", *TINY, *sweep, "--out", tmp_path / "b")
    assert code == 1
    assert "failed  poisson1d" in out
    assert "--retry" in out
    assert "[1/2]" in err
    assert run(capfd, "bench", *TINY, *sweep, "--out", tmp_path / "b", "--retry")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suite", "everything"], ["no suite", "linear"]),
        (["--ablation", "luck"], ["no ablation", "drop-tolerance"]),
        (["--problems", "poisson"], ["no problem"]),
        (["--problems", ","], ["names nothing"]),
        (["--methods", "magic"], ["no method", "fem-fit"]),
        (["--presets", "fast"], ["no preset", "quick"]),
        (["--trials", "0"], ["--trials 0"]),
        (["--jobs", "0"], ["--jobs 0"]),
        (["--device", "tpu"], ["tpu", "cuda"]),
        (["--sweep", "width"], ["--sweep", "key=v1,v2"]),
        (["--set", "seed=3"], ["--seed"]),
        (["--set", "widht=3"], ["widht", "width"]),
    ],
)
def test_wrong_words(capfd, tmp_path, arguments, words):
    code, out, err = run(capfd, "bench", *arguments, "--out", tmp_path / "b")
    assert (code, out) == (2, "")
    for word in words:
        assert word in " ".join(err.split())
    assert not (tmp_path / "b" / "bench.json").exists()


@pytest.mark.parametrize("name", ["results.csv", "bench.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{]", b"\xff\xfe", b"key,problem\n", b"[[[[", b'{"format": 1, "plans": [1]}']
)
def test_damaged_files(capfd, bench, name, content):
    folder = bench[0]
    (folder / name).write_bytes(content)
    for command in (["bench", *TINY, "--out", folder], ["bench", "--out", folder], ["report", folder]):
        code, out, err = run(capfd, *command)
        assert (code, out) == (2, "")
        assert name in " ".join(err.split()).replace("- ", "-")
    assert (folder / name).read_bytes() == content


def test_report(capfd, bench):
    folder = bench[0]
    code, out, _ = run(capfd, "report", folder)
    assert code == 0
    assert out.splitlines()[0] == str(folder / "report.html")
    assert (folder / "figures" / "overview.pdf").exists()


def test_report_of_nothing(capfd, tmp_path):
    code, out, err = run(capfd, "report", tmp_path)
    assert (code, out) == (2, "")
    assert "no benchmark" in err
    assert not any(tmp_path.iterdir())


def test_report_without_matplotlib(capfd, bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [
        m
        for m in sys.modules
        if m.startswith("pcpinn.bench.") and m.split(".")[-1] in ("page", "graphics", "maps", "figures")
    ]:
        monkeypatch.delitem(sys.modules, name)
    code, _, err = run(capfd, "report", bench[0])
    assert code == 2
    assert "pip install matplotlib" in " ".join(err.split())


def test_interruption_tells_how_to_go_on(capfd, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner, "run_cell", interrupted)
        code, out, err = run(capfd, "bench", *TINY, "--out", tmp_path / "b")
    assert (code, out) == (130, "")
    assert f"pcpinn bench --out {tmp_path / 'b'}" in err.replace("\n", "")
    assert run(capfd, "bench", "--out", tmp_path / "b", "--device", "cpu")[0] == 0
