"""A few trials of every fuzzer, always the same; `make campaign` goes on from there for as long as one likes."""

import os
import subprocess
import sys
from pathlib import Path

import pcpinn as pc

HERE = Path(__file__).parent
TRIALS = {
    "kills": 1,
    "folders": 4,
    "meshes": 30,
    "settings": 20,
    "data": 12,
    "problem_files": 3,
    "resources": 2,
    "problems": 1,
}


def campaign(folder, *options):
    environment = {**os.environ, "PYTHONPATH": str(Path(pc.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "run.py"), "--folder", str(folder), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def test_a_small_campaign_finds_nothing(tmp_path):
    done = campaign(tmp_path / "all", "--sizes", ",".join(f"{k}={n}" for k, n in TRIALS.items()))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failures; their files" not in done.stdout
    rows = (tmp_path / "all" / "trials.csv").read_text().splitlines()
    assert len(rows) == 1 + sum(TRIALS.values())


def test_what_is_wrong_is_noticed_and_kept(tmp_path):
    """Calls add up; exceptions, hangs, memory, code and writing elsewhere are failures."""
    wrong = tmp_path / "wrong"
    done = campaign(wrong, "--only", "selftest", "--trials", "6")
    again = campaign(wrong, "--only", "selftest", "--trials", "1")
    assert (done.returncode, again.returncode) == (1, 1)
    kept = {p.name: (p / "FAILURE.txt").read_text() for p in (wrong / "failures").iterdir()}
    words = ("ZeroDivisionError", "hangs", "MemoryError", "os.system", "for writing", "ended with -6")
    assert len(kept) == len(words)
    for number, word in enumerate(words):
        assert word in kept[f"selftest-{number}"], kept[f"selftest-{number}"]
    assert "selftest,6,1,ok" in (wrong / "trials.csv").read_text()  # the seventh is as it should be
