"""What is in the wheel, and that it works away from the sources."""

import email
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from wheels import ROOT, build

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"))


def tracked():
    """Everything under src that is not made by running it."""
    found = {p.relative_to(ROOT / "src") for p in (ROOT / "src").rglob("*") if p.is_file()}
    return {p.as_posix() for p in found if "__pycache__" not in p.parts and ".egg-info" not in p.parts[0]}


def test_the_wheel_has_every_file_of_the_sources(built):
    names = {n for n in zipfile.ZipFile(built[1]).namelist() if ".dist-info/" not in n}
    assert names == tracked()
    assert len(names) > 500


def test_the_archive_has_what_a_build_needs(built):
    with tarfile.open(built[0]) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "constraints.txt"} <= names
    assert {f"src/{name}" for name in tracked()} <= names


def test_what_the_wheel_says_of_itself(built):
    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = [n for n in wheel.namelist() if n.endswith("METADATA")]
        facts = email.message_from_bytes(wheel.read(name))
        entry = wheel.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert (facts["Name"], facts["Version"]) == ("pcpinn", PROJECT["version"])
    assert {f"Programming Language :: Python :: 3.{k}" for k in (11, 12, 13)} <= set(facts.get_all("Classifier"))
    assert {"export", "tensorboard", "wandb", "cluster"} <= set(facts.get_all("Provides-Extra"))
    assert "pcpinn = pcpinn_command:main" in entry


def test_one_version_everywhere():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'version: "{version}"' in (ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text()
    assert f"\n## {version} (20" in (ROOT / "CHANGELOG.md").read_text()
    assert f"PCPINN={version}" in (ROOT / "containers" / "Dockerfile").read_text()


def test_the_recipe_asks_for_what_the_package_asks_for():
    other = {"torch": "pytorch", "netgen-mesher": "ngsolve", "matplotlib": "matplotlib-base"}
    recipe = (ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text()
    for wanted in PROJECT["dependencies"]:
        name, _, least = wanted.partition(">=")
        assert f"- {other.get(name, name)} >={least}\n" in recipe


def test_it_works_away_from_the_sources(built, tmp_path):
    """From the files of the wheel alone, in another folder."""
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(tmp_path / "site")
    code = (
        "import pcpinn, sys; from pcpinn.cli import main; print(pcpinn.__file__, pcpinn.__version__, flush=True);"
        "main(['solve', 'poisson1d', '--preset', 'quick', '--set', 'cells=6', '--set', 'iterations=3', '--out', 'run'])"
    )
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    file, version = done.stdout.splitlines()[0].split()
    assert file == str(tmp_path / "site" / "pcpinn" / "__init__.py")
    assert version == PROJECT["version"]
    assert {"solution.png", "report.html", "result.json"} <= {p.name for p in (tmp_path / "run").iterdir()}
