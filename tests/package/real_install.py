"""`make test-package`: wheel and source archive, each installed into an environment of its own, and a first picture from there.

Not part of the usual tests: it fetches torch and all else from the package index.
"""

import os
import subprocess
import sys
import time
import venv

import pytest
from wheels import ROOT, build


@pytest.mark.parametrize("kind", ["wheel", "source archive"])
def test_a_new_environment_solves(tmp_path, kind):
    archive, wheel = build(tmp_path / "dist")
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    began = time.monotonic()

    def call(program, *words):
        line = [str(programs / program), *map(str, words)]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        print(
            f"{time.monotonic() - began:6.1f} s  {program} {' '.join(map(str, words))[:80]}",
            file=sys.__stdout__,
            flush=True,
        )
        return done.stdout

    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt")
    call("python", *pip, wheel if kind == "wheel" else archive)
    assert call("pcpinn", "--version").startswith("pcpinn 0.")
    where = call("python", "-c", "import pcpinn; print(pcpinn.__file__)")
    assert str(tmp_path / "env") in where
    call("pcpinn", "solve", "poisson2d-c", "--preset", "quick", "--out", "run")
    assert (tmp_path / "run" / "solution.png").stat().st_size > 10_000
    call("pcpinn", "export", "run", "--to", "vtkhdf")
