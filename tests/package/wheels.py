"""Builds the source archive, and the wheel from that, by setuptools as it is installed; the sources stay as they are."""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NEEDED = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md")
_NEEDED += ("constraints.txt",)
_BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"


def build(folder):
    """Paths of source archive and wheel in a folder, which is made."""
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, "copy")
        shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        for file in _NEEDED:
            shutil.copy(ROOT / file, copy / file)
        archive = folder / _call("build_sdist", folder, copy)
        with tarfile.open(archive) as packed:
            packed.extractall(Path(name, "again"), filter="data")
        (again,) = Path(name, "again").iterdir()
        return archive, folder / _call("build_wheel", folder, again)


def _call(hook, folder, where):
    """The name of what a hook has built."""
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, hook, str(folder)], cwd=where, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


if __name__ == "__main__":
    print(*build(sys.argv[1]), sep="\n")
