"""pcpinn reproduce, as a user types it."""

import json

import pytest
from typed import run

from pcpinn.bench import runner
from pcpinn.reproduce import ITEMS, Choice, work

TINY = ["--preset", "quick", "--seeds", 1, "--device", "cpu", "--problems", "poisson2d-c", "--methods", "pcpinn"]
for change in ("size=0.3", "degree=1", "width=4", "depth=1", "features=none", "iterations=3", "certify=false"):
    TINY += ["--set", change]
STUDY = ["--preset", "quick", "--set", "P=1", "--set", "meshes=10", "--set", "elements=4"]


def test_the_list_names_every_item(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capfd, "reproduce", "--json")
    assert code == 0
    items = json.loads(out)["items"]
    assert [i["id"] for i in items] == list(ITEMS.names())
    nothing_to_run = [item.name for item in ITEMS if not item.parts(Choice())]
    assert {i["status"] for i in items if i["id"] not in nothing_to_run} == {"not run"}
    assert not any(tmp_path.iterdir())


def test_the_list_knows_what_has_been_run(capfd, tmp_path):
    assert run(capfd, "reproduce", "table-2", *TINY, "--out", tmp_path / "r")[0] == 0
    code, out, _ = run(capfd, "reproduce", "--preset", "quick", "--out", tmp_path / "r")
    assert code == 0
    assert "table-13" in out
    listed = " ".join(out.split())
    assert "not run" in listed


def test_again_it_computes_nothing(capfd, tmp_path, monkeypatch):
    runs = ["reproduce", "table-2", "table-12", *TINY, "--out", tmp_path / "r"]
    study = ["reproduce", "figure-2a", *STUDY, "--out", tmp_path / "r"]
    before = [run(capfd, *c)[:2] for c in (runs, study)]
    monkeypatch.setattr(runner, "run_cell", lambda *a: pytest.fail("ran again"))
    monkeypatch.setattr(work, "conduct", lambda *a: pytest.fail("studied again"))
    assert [run(capfd, *c)[:2] for c in (runs, study)] == before
    assert all(code == 0 for code, _ in before)


def test_failures_end_with_code_1(capfd, tmp_path, monkeypatch):
    code, out, _ = run(capfd, "reproduce", "table-2", *TINY, "--set", "degree=9", "--out", tmp_path / "r")
    assert code == 1
    assert "failed  poisson2d-c" in out
    assert "Verdict: not run" in out

    def breaks(*arguments):
        raise MemoryError("too large")

    monkeypatch.setattr(work, "conduct", breaks)
    code, out, _ = run(capfd, "reproduce", "figure-2a", *STUDY, "--out", tmp_path / "s")
    assert code == 1
    assert "too large" in out


def test_interruption(capfd, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_cell", interrupted)
    code, out, err = run(capfd, "reproduce", "table-2", *TINY, "--out", tmp_path / "r")
    assert (code, out) == (130, "")
    assert "goes on" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table-99"], ["no item", "table-"]),
        (["table-2", "--preset", "fast"], ["no preset", "quick"]),
        (["table-2", "--seeds", "0"], ["--seeds 0"]),
        (["table-2", "--device", "tpu"], ["tpu", "cuda"]),
        (["table-2", "--problems", "poisson1d"], ["poisson1d", "burgers1d-c"]),
        (["table-2", "--methods", "magic"], ["magic", "pcpinn"]),
        (["table-2", "--set", "widht=3"], ["widht", "width"]),
        (["figure-2a", "--set", "widht=3"], ["widht", "meshes"]),
        (["table-2", "--from", "nowhere"], ["nowhere", "not there"]),
    ],
)
def test_wrong_words(capfd, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capfd, "reproduce", *arguments)
    assert (code, out) == (2, "")
    for word in words:
        assert word in " ".join(err.split())
    assert not any(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("content", [b"", b"id,preset\n", b"\xff\xfe"])
def test_damaged_verdicts(capfd, tmp_path, content):
    (tmp_path / "verdicts.csv").write_bytes(content)
    code, _, err = run(capfd, "reproduce", "table-1", "--out", tmp_path)
    assert code == 2
    assert "verdicts.csv" in " ".join(err.split())
