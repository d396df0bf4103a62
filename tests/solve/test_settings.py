"""Settings: every key from text, what is suggested, what is refused, and plain data."""

import json
import math
import typing

import pytest

from pcpinn import Settings
from pcpinn.errors import PcpinnError

HINTS = typing.get_type_hints(Settings)
NAMES = {"activation": "silu", "initialisation": "torch"}


def other_than_default(key):
    """A text for a key, and the value that it stands for, which is not the default."""
    kind = next(o for o in (typing.get_args(HINTS[key]) or (HINTS[key],)) if o is not type(None))
    if typing.get_origin(HINTS[key]) is typing.Literal:
        choice = next(c for c in typing.get_args(HINTS[key]) if c != getattr(Settings(), key))
        return choice, choice
    if key in ("kinks", "frequencies", "corners"):
        return "-2,2.5;0", ((-2.0, 2.5), (0.0,))
    if typing.get_origin(kind) is tuple:
        return "30,40", (30, 40)
    return {int: ("7", 7), float: ("0.375", 0.375), bool: ("false", False), str: (NAMES.get(key),) * 2}[kind]


TEXTS = {key: other_than_default(key) for key in HINTS}


@pytest.mark.parametrize("key", TEXTS)
def test_every_key_from_text(key):
    text, value = TEXTS[key]
    settings = Settings().updated({key: text})
    assert getattr(settings, key) == value
    assert type(getattr(settings, key)) is type(value)
    assert getattr(Settings(), key) != value
    assert Settings(**{key: text}) == settings
    others = [k for k in TEXTS if k != key]
    assert [getattr(settings, k) for k in others] == [getattr(Settings(), k) for k in others]


@pytest.mark.parametrize("key", TEXTS)
def test_through_json(key):
    settings = Settings().updated({key: TEXTS[key][0]})
    text = json.dumps(settings.to_dict(), allow_nan=False)
    assert Settings.from_dict(json.loads(text)) == settings


def test_defaults_through_json():
    assert Settings.from_dict(json.loads(json.dumps(Settings().to_dict(), allow_nan=False))) == Settings()
    assert Settings().time_limit == math.inf
    assert Settings.from_dict({}) == Settings()


@pytest.mark.parametrize("key", [key for key, hint in HINTS.items() if type(None) in typing.get_args(hint)])
def test_none_as_text(key):
    settings = Settings().updated({key: TEXTS[key][0]})
    assert getattr(settings.updated({key: "none"}), key) is None
    assert getattr(settings.updated({key: None}), key) is None


@pytest.mark.parametrize(
    ("given", "cells"),
    [
        ("30x40", (30, 40)),
        ("7", (7,)),
        (7, (7,)),
        ([3, 4], (3, 4)),
        ((5,), (5,)),
        ("2,3,4", (2, 3, 4)),
        ([2.0, 3.0], (2, 3)),
    ],
)
def test_cells_in_every_writing(given, cells):
    assert Settings(cells=given).cells == cells


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dense", True),
        ("curved", "False"),
        ("curved", "TRUE"),
        ("degree", 2.0),
        ("iterations", "1e3"),
        ("seed", -3),
        ("seed", 0),
        ("tolerance", 0),
        ("time_limit", "inf"),
    ],
)
def test_near_misses_are_taken(key, value):
    taken = getattr(Settings().updated({key: value}), key)
    assert str(taken).lower() == str(int(float(value)) if key in ("degree", "iterations", "seed") else taken).lower()
    assert isinstance(taken, (typing.get_args(HINTS[key]) and str) or HINTS[key])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("degree", "two"),
        ("degree", 2.5),
        ("degree", True),
        ("degree", None),
        ("degree", "inf"),
        ("degree", "nan"),
        ("degree", [1]),
        ("mesh_size", "small"),
        ("mesh_size", "nan"),
        ("mesh_size", True),
        ("learning_rate", None),
        ("curved", "yes"),
        ("curved", 1),
        ("cells", "a,b"),
        ("cells", ""),
        ("cells", ()),
        ("cells", (3, 0)),
        ("cells", (3, -1)),
        ("cells", (3, 2.5)),
        ("cells", (True, 2)),
        ("cells", 3.5),
        ("optimiser", "sgd"),
        ("optimiser", "Adam"),
        ("optimiser", None),
        ("features", 3),
        ("activation", 3),
        ("activation", None),
    ],
)
def test_wrong_values_are_refused(key, value):
    with pytest.raises(PcpinnError, match=f"{key}=.* does not fit") as caught:
        Settings().updated({key: value})
    assert caught.value.remedy.startswith("give ")


COUNTS = ["iterations", "width", "degree", "time_cells", "quadrature"]
SIZES = ["drop_tolerance", "fill_factor", "mesh_size", "time_limit", "learning_rate", "damping", "curvature"]


@pytest.mark.parametrize("key", COUNTS + SIZES)
@pytest.mark.parametrize("value", [0, -1])
def test_positive_means_positive(key, value):
    with pytest.raises(PcpinnError, match=f"{key}={value} must be positive"):
        Settings(**{key: value})


@pytest.mark.parametrize(
    ("key", "suggestion"),
    [("mesh-size", "mesh_size"), ("widht", "width"), ("optimizer", "optimiser"), ("preconditoner", "preconditioner")],
)
def test_unknown_keys_suggest(key, suggestion):
    with pytest.raises(PcpinnError, match=f"no setting '{key}'") as caught:
        Settings().updated({key: 1})
    assert suggestion in caught.value.remedy


def test_a_hopeless_key_lists_all():
    with pytest.raises(PcpinnError) as caught:
        Settings().updated({"qqqq": 1})
    assert all(name in caught.value.remedy for name in HINTS)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("beta1", 1.0),
        pytest.param("beta1", -0.5),
        pytest.param("beta2", 1.0),
        pytest.param("learning_rate", math.inf),
        pytest.param("seed", 2**70),
        pytest.param("checkpoint_every", -1.0),
        pytest.param("tolerance", -1.0),
        pytest.param("sample", -1),
    ],
)
def test_senseless_values_are_refused(key, value):
    with pytest.raises(PcpinnError, match=key):
        Settings(**{key: value})


def test_large_seeds_keep_their_digits():
    assert Settings(seed=2**53 + 1).seed == 2**53 + 1


def test_numpy_integers_count_cells():
    import numpy as np

    assert Settings(cells=np.int64(4)).cells == (4,)


@pytest.mark.parametrize(
    ("given", "kinks"),
    [
        ("-2,2;0", ((-2.0, 2.0), (0.0,))),
        (";0.5", ((), (0.5,))),
        ("1", ((1.0,),)),
        ([[-2, 2], [0]], ((-2.0, 2.0), (0.0,))),
        ("", None),
        ([[], []], None),
        ("none", None),
    ],
)
def test_kinks_in_every_writing(given, kinks):
    assert Settings(kinks=given).kinks == kinks


@pytest.mark.parametrize("given", ["a;b", "1,;2", 3, [1, 2], "nan", "inf;1", [["x"]], [[True]]])
def test_kinks_refused(given):
    with pytest.raises(PcpinnError, match="kinks") as caught:
        Settings(kinks=given)
    assert "-2,2;0" in caught.value.remedy
