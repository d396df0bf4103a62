import re

import pytest

from pcpinn import PcpinnError
from pcpinn.bench.cell import Cell, canonical, task_of
from pcpinn.recipes import as_text

PLAIN = Cell("poisson1d", "pcpinn", "quick", (("drop_tolerance", "0.001"), ("width", "8")), 3)


def test_key_is_readable_safe_and_tells_all_parts_apart():
    assert re.fullmatch(r"poisson1d-pcpinn-quick-drop-tolerance=0.001-width=8-s3-[0-9a-f]{8}", PLAIN.key)
    others = [
        Cell("poisson1d", "pinn", "quick", PLAIN.changes, 3),
        Cell("poisson1d", "pcpinn", "paper", PLAIN.changes, 3),
        Cell("poisson1d", "pcpinn", "quick", PLAIN.changes[:1], 3),
        Cell("poisson1d", "pcpinn", "quick", PLAIN.changes, 4),
        Cell("poisson1d", "pcpinn", "quick", PLAIN.changes, 3, "p.py", "abc"),
    ]
    assert len({PLAIN.key, *(c.key for c in others)}) == 6
    nasty = Cell("../../etc", "a/b", "..", (("x", "../y"),), 0)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9=.+-]*", nasty.key)
    assert ".." not in nasty.key.split("-")[0]
    assert "/" not in nasty.key


def test_a_prepared_file_is_the_same_problem():
    prepared = Cell("poisson1d", "pcpinn", "quick", PLAIN.changes, 3, "elsewhere/p.pcpinn")
    assert prepared.key == PLAIN.key
    assert prepared.command() == "pcpinn solve elsewhere/p.pcpinn --seed 3 --set drop_tolerance=0.001 --set width=8"


def test_command_makes_the_run():
    assert PLAIN.command() == "pcpinn solve poisson1d --preset quick --seed 3 --set drop_tolerance=0.001 --set width=8"
    assert "--method pinn" in Cell("poisson1d", "pinn", "quick", (), 0).command()


def test_same_values_have_the_same_text():
    a = canonical({"width": "8", "drop_tolerance": "1e-3", "curved": "TRUE", "cells": "4,5"}, {})
    b = canonical({"drop_tolerance": 0.001, "cells": (4, 5), "curved": True, "width": 8.0}, {})
    assert a == b == (("cells", "4x5"), ("curved", "true"), ("drop_tolerance", "0.001"), ("width", "8"))
    assert canonical({"P": "2"}, {"P": 1.0}) == (("P", "2"),)


@pytest.mark.parametrize(
    "value", [0.1 + 0.2, 1e-5, 1 / 3, 20000.0, float("inf"), None, True, (3, 4), ((-2.0, 1 / 3), (), (0.0,))]
)
def test_text_of_a_setting_reads_back(value):
    key = {bool: "curved", tuple: "cells", type(None): "size"}.get(type(value), "time_limit")
    key = "kinks" if value and value == ((-2.0, 1 / 3), (), (0.0,)) else key
    settings = task_of(Cell("poisson1d", "pcpinn", "quick", ((key, as_text(value)),), 0)).settings
    found = {**vars(settings.mesh), **vars(settings.run)}
    assert found[key] == value


@pytest.mark.parametrize(("key", "word"), [("seed", "--seed"), ("device", "--device")])
def test_options_are_no_settings(key, word):
    with pytest.raises(PcpinnError, match=word):
        canonical({key: "1"}, {})


def test_data_round_trip():
    assert Cell.from_dict(PLAIN.to_dict()) == PLAIN


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "0"},
        {"seed": True},
        {"changes": []},
        {"changes": {"a": 1}},
        {"problem": None},
        {"file": 3},
        {"digest": []},
    ],
)
def test_strange_data_is_refused(change):
    with pytest.raises(ValueError):  # noqa: PT011
        Cell.from_dict({**PLAIN.to_dict(), **change})
