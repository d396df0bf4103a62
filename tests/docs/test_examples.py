"""The examples of docs/examples run, and what they find is right: one small surrogate serves all of them."""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pcpinn as pc

FOLDER = Path(__file__).parents[2] / "docs" / "examples"


def imported(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def examples():
    """All of them, with one surrogate that is trained for seconds."""
    common = imported("common")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pc.PcpinnWarning)  # so short a training does not reach what is asked
        small = common.surrogate(time_limit=100.0, iterations=20, validation=16)
    made = {name: imported(name) for name in ("optimise", "uncertainty", "calibration", "slider")}
    for module in made.values():
        module.trained = lambda *_: small
    yield made
    for name in ("common", *made):
        sys.modules.pop(name, None)


def test_the_best_place_is_as_good_as_it_seems(examples, tmp_path):
    picture = tmp_path / "optimise.png"
    found, true = examples["optimise"].main(picture=picture)
    assert found == pytest.approx(true, rel=0.15)
    start = examples["optimise"].direct(np.array([0.5, 0.5, 1.0]))
    assert true > start
    assert picture.exists()


def test_uncertainty(examples):
    mean, std, seconds = examples["uncertainty"].main(count=5000, picture=None)
    assert 0 < std < mean
    assert seconds < 5


def test_calibration_finds_the_truth(examples):
    found = examples["calibration"].main(picture=None)
    assert (np.abs(found.mean - examples["calibration"].TRUTH) < 4 * found.std).all()
    assert found.std.max() < 0.3


def test_slider(examples, tmp_path):
    page = examples["slider"].main(page=tmp_path / "page.html")
    assert "const data" in page.read_text()
