"""The sequence behind a reference, and references that come with the package."""

import numpy as np
import pytest

from pcpinn.catalog import CATALOG
from pcpinn.catalog.makers import MAKERS, Level, Maker, agreement, find_maker, make_reference
from pcpinn.catalog.reference_file import read_shipped
from pcpinn.errors import PcpinnError
from pcpinn.progress import Progress
from pcpinn.solution.reference import Reference


def halving(name="toy"):
    """Members 1 + 2^-k."""
    return Maker(
        name=name,
        method="halving",
        levels=tuple(Level(f"member {k}", 10.0**k) for k in range(4)),
        points=lambda: np.array([[0.0], [1.0]]),
        values=lambda k: np.full((2, 1), 1 + 0.5**k),
    )


class Notes(Progress):
    def __init__(self):
        self.lines = []

    def stage(self, name, total=None):
        self.lines.append(name)

    def note(self, text):
        self.lines.append(text)


def test_the_error_is_the_last_difference():
    notes = Notes()
    reference, made = halving().make(2, notes)
    assert reference.error == pytest.approx(0.25 / 1.25)
    assert made["differences"] == pytest.approx([0.5 / 1.5, 0.25 / 1.25])
    assert made["levels"] == ["member 0", "member 1", "member 2"]
    assert made["command"] == "pcpinn reference make toy --level 2"
    assert (reference.kind, reference.values.max()) == ("certified", 1.25)
    assert sum("member" in line for line in notes.lines) == 5
    assert halving().seconds(2) == 111


@pytest.mark.parametrize("level", [-1, 0, 4])
def test_levels_that_are_not_there(level):
    with pytest.raises(PcpinnError, match=f"no level {level}") as caught:
        halving().make(level)
    assert "from 1 to 3" in caught.value.remedy


def test_agreement():
    fine, coarse = halving().make(3)[0], halving().make(1)[0]
    found = agreement(coarse, fine)
    assert found.holds
    assert found.difference == pytest.approx(0.375 / 1.125)
    wrong = Reference(fine.points, fine.values * 1.5, kind="certified", error=fine.error)
    assert not agreement(wrong, fine).holds
    with pytest.raises(PcpinnError, match="same points"):
        agreement(Reference(fine.points + 1, fine.values), fine)


def test_unknown_problems():
    with pytest.raises(PcpinnError, match="wave1d-c") as caught:
        make_reference("wave1d-c", 1)
    assert "heat2d-vc" in caught.value.remedy


@pytest.mark.parametrize("name", MAKERS.names())
def test_what_is_shipped(name):
    """Made by the command it names, at the finest level, at the maker's points, converging."""
    maker, (reference, made) = find_maker(name), read_shipped(name)
    assert maker.name == name
    assert name in CATALOG
    assert made["level"] == len(maker.levels) - 1
    assert made["levels"] == [member.text for member in maker.levels]
    assert made["command"] == f"pcpinn reference make {name} --level {made['level']}"
    assert made["differences"][-1] == reference.error
    assert made["differences"][-1] < made["differences"][-2] / 3
    np.testing.assert_array_equal(reference.points, maker.points())
    assert maker.seconds(maker.check_level) < 120
    assert 1 <= maker.check_level < len(maker.levels)
