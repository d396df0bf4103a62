"""Problems of the catalog by their accuracy alone: what experts have written into presets is out of reach."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch

import pcpinn as pc
from pcpinn.catalog.entry import ACCURACY
from pcpinn.catalog.find import find_entry
from pcpinn.catalog.task import make_task
from pcpinn.errors import PcpinnError


class OutOfReach(Mapping):
    """Presets that nobody may look at."""

    def __getitem__(self, name):
        raise AssertionError(f"preset {name!r} was read")

    def __iter__(self):
        raise AssertionError("presets were read")

    def __len__(self):
        raise AssertionError("presets were read")

    def __contains__(self, name):
        raise AssertionError(f"preset {name!r} was looked for")


def bare(name):
    """An entry without presets, and without settings of its own."""
    return replace(find_entry(name), presets=OutOfReach(), own={})


def by_accuracy(entry, accuracy):
    return make_task(entry, ACCURACY, {"accuracy": accuracy, "device": "cpu", "time_limit": 300}).run()


@pytest.mark.filterwarnings("error::pcpinn.errors.AccuracyWarning")
@pytest.mark.parametrize("name", ["poisson1d", "burgers1d-c", "wave1d-c", "poisson2d-c", "poisson2d-cg", "helmholtz2d"])
def test_accuracy_is_all_that_is_given(name):
    solution = by_accuracy(bare(name), 1e-2)
    assert solution.verdict.reached
    assert solution.errors["l2re"] < 1e-2
    assert 0.3 < solution.verdict.estimate / solution.errors["l2re"] < 3


@pytest.mark.parametrize("name", ["poisson1d", "wave1d-c"])
def test_presets_of_nonsense_change_nothing(name):
    nonsense = {
        preset: {"width": 1, "iterations": 1, "steps": 1, "degree": 1} for preset in ("quick", "default", "paper")
    }
    entry = replace(find_entry(name), presets=nonsense)
    solution = by_accuracy(entry, 2e-2)
    plain = pc.solve(entry.make(**entry.parameters), accuracy=2e-2, device="cpu", time_limit=300)
    torch.testing.assert_close(solution.network.theta, plain.network.theta, rtol=0, atol=0)
    assert solution.verdict == plain.verdict


def test_the_entries_here_have_presets_that_would_be_seen():
    with pytest.raises((AssertionError, PcpinnError), match="default"):
        make_task(bare("poisson1d"), "default", {})
