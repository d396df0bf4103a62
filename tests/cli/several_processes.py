"""`torchrun -m pcpinn` (`make test-together`): processes that die, differ, are interrupted or resumed in another number.

Not collected by `make test`: it takes minutes. What two processes compute is in solve/test_shared.py.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import members
import numpy as np
import pytest
from test_shared import run_together

import pcpinn

SOURCE = Path(pcpinn.__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
PROBLEM = """
import torch
from pcpinn import Dirichlet, Problem, Rectangle

problem = Problem(
    Rectangle((0, 0), (1, 1)),
    flux=lambda x, u: u.grad,
    source=lambda x, u: u.value**3 - 10 * torch.sin(3 * x[0]),
    boundary=dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0)),
)
"""
SMALL = {"size": 0.15, "width": 8, "depth": 1, "optimiser": "adam", "certify": "false", "checkpoint_every": 0.2}


def torchrun(size, folder, *words, script=None):
    """A started command."""
    what = [str(script)] if script else ["-m", "pcpinn"]
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={size}", *what, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, **pipes)


def solving(iterations, **more):
    keys = {**SMALL, "iterations": iterations, **more}
    return [
        "solve",
        "big.py",
        "--device",
        "cpu",
        "--out",
        "run",
        *(w for k, v in keys.items() for w in ("--set", f"{k}={v}")),
    ]


def messages(err):
    """What pcpinn says, without torchrun's own report."""
    return [line for line in err.splitlines() if line.startswith(("error:", "  -> ", "told to end", "interrupted"))]


def workers(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(pid) for pid in children.split()]


def wait_for(path, process, patience=120):
    end = time.monotonic() + patience
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "big.py").write_text(PROBLEM, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("case", members.ALL)
def test_four_processes_find_what_one_finds(by_four, case):
    values, _ = members.values(case)
    np.testing.assert_allclose(by_four[f"{case}: values"], values, rtol=0, atol=1e-10 * abs(values).max())


@pytest.fixture(scope="module")
def by_four(tmp_path_factory):
    return run_together(tmp_path_factory.mktemp("team"), 4, members.ALL)


def test_one_message_for_a_refused_input(folder):
    process = torchrun(2, folder, *solving(5, parts=1))
    out, err = process.communicate(timeout=120)
    assert process.returncode
    assert out == ""
    assert messages(err) == ["error: 2 processes cannot share 1 parts of a mesh", "  -> set parts=2 or more"]
    assert not (folder / "run").exists()


def test_a_command_that_is_not_shared(folder):
    process = torchrun(2, folder, "list")
    out, err = process.communicate(timeout=120)
    assert out == ""
    assert messages(err)[0] == "error: pcpinn list runs in one process"


def test_a_process_that_dies_is_named_and_the_run_goes_on_with_fewer(folder):
    process = torchrun(3, folder, *solving(100_000))
    wait_for(folder / "run" / "checkpoint.safetensors", process)
    os.kill(workers(process)[1], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode
    assert out == ""
    assert messages(err)[0].startswith("error: of 3 processes number 1 has ended without a word")
    assert len(messages(err)) == 2
    process = torchrun(2, folder, "resume", "run", "--problem", "big.py", "--set", "time_limit=1", "--json")
    out, err = process.communicate(timeout=120)
    result = json.loads(out)  # the exit code is that of an accuracy that was not reached
    assert result["stopped_by"] == "time limit"
    assert result["preconditioner"]["processes"] == 2
    assert result["preconditioner"]["parts"] == 8


def test_an_interrupt_ends_all_after_a_checkpoint(folder):
    process = torchrun(2, folder, *solving(100_000))
    wait_for(folder / "run" / "checkpoint.safetensors", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert out == ""
    assert [line for line in messages(err) if line.startswith("error")] == []
    assert (folder / "run" / "checkpoint.safetensors").exists()
    assert not (folder / "run" / "result.json").exists()


def test_begun_on_four_resumed_on_two_is_the_run_of_one(folder):
    """Each takes its parts; the answer is that of a run that was never interrupted."""
    torchrun(4, folder, *solving(60)).communicate(timeout=200)
    torchrun(2, folder, "resume", "run", "--problem", "big.py", "--set", "iterations=90").communicate(timeout=200)
    words = [w if w != "run" else "whole" for w in solving(90, preconditioner="schwarz")]
    subprocess.run(
        [sys.executable, "-m", "pcpinn", *words], cwd=folder, env=ENVIRONMENT, check=False, capture_output=True
    )
    resumed, whole = (json.loads((folder / name / "result.json").read_text("utf-8")) for name in ("run", "whole"))
    assert resumed["iterations"] == whole["iterations"] == 90
    assert resumed["loss"] == pytest.approx(whole["loss"], rel=1e-9)


def test_processes_with_different_files_are_named(folder):
    """Each in a folder of its own, as on machines that share none."""
    starter = folder / "starter.py"
    starter.write_text(
        "import os, sys\nfrom pathlib import Path\nfrom pcpinn.cli import main\n"
        "own = Path(os.environ['RANK'])\nown.mkdir()\nos.chdir(own)\n"
        "text = Path('../big.py').read_text() + '# ' * int(os.environ['RANK'])\n"
        "Path('big.py').write_text(text)\nmain(sys.argv[1:])\n",
        encoding="utf-8",
    )
    process = torchrun(2, folder, *solving(5), script=starter)
    _, err = process.communicate(timeout=120)
    assert process.returncode
    assert messages(err)[0].startswith("error: process 1 has another file big.py than process 0")
    assert len(messages(err)) == 2
