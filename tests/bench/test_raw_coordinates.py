"""The script that compares coordinates as they are with scaled ones: the same points, two different answers."""


def test_both_kinds_are_measured(script):
    measure = script("raw_coordinates").measure
    raw, scaled = (measure("poisson1d", "pinn", kind, points=32, steps=3) for kind in (False, True))
    assert (raw["coordinates"], scaled["coordinates"]) == ("as they are", "scaled")
    assert raw["l2re"] != scaled["l2re"]
    assert {k: raw[k] for k in ("problem", "points", "steps")} == {"problem": "poisson1d", "points": 32, "steps": 3}
