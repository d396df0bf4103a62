"""Settings: recipes in slots, from keys of the user, presets and defaults; what is refused, and why."""

import json
import math

import pytest
from cases import chosen

import pcpinn as pc
from pcpinn import PcpinnError
from pcpinn.recipes import as_text
from pcpinn.solve.method import METHODS, REGISTRIES, SLOTS
from pcpinn.solve.settings import Settings, canonical_value, resolve_preset


def test_defaults():
    settings = chosen()
    assert settings.mesh == pc.Meshing()
    assert settings.time is None
    assert settings.preconditioner == pc.AutoILU()
    assert settings.network == pc.MLP()
    assert settings.optimiser == pc.GaussNewton()
    assert settings.newton == pc.NewtonMethod()
    assert settings.loss == pc.Residual()
    assert (settings.run.seed, settings.run.device, settings.run.time_limit) == (0, "auto", math.inf)
    assert chosen(over_time=True).time == pc.Simplices()


def test_recipes_and_keys_say_the_same():
    by_recipe = chosen(mesh=pc.Meshing(size=0.05, degree=3), preconditioner=pc.ILU(1e-3), optimiser=pc.Adam(1e-2))
    by_key = chosen(
        size="0.05", degree="3", preconditioner="ilu", drop_tolerance="1e-3", optimiser="adam", learning_rate=0.01
    )
    dotted = chosen(
        **{"mesh.size": 0.05, "mesh.degree": 3, "preconditioner": "ilu", "preconditioner.drop_tolerance": 1e-3},
        **{"optimiser": "adam", "optimiser.learning_rate": 1e-2},
    )
    assert by_recipe == by_key == dotted


def test_a_recipe_and_a_key_of_it():
    assert chosen(mesh=pc.Meshing(size=0.05, degree=3), degree=4).mesh == pc.Meshing(size=0.05, degree=4)


def test_defaults_follow_other_choices():
    assert isinstance(chosen(True, time="slabs").preconditioner, pc.TimeOrder)
    assert isinstance(chosen(True, time="slabs", scheme="galerkin").preconditioner, pc.Separable)
    assert isinstance(chosen(True, time="march").preconditioner, pc.Stages)
    assert isinstance(chosen(preconditioner="jacobi").optimiser, pc.Adam)
    assert isinstance(chosen(preconditioner="auto").preconditioner, pc.AutoILU)
    assert "newton" not in chosen(True, time="march").recipes


def test_a_drop_tolerance_means_an_ilu_that_is_not_automatic():
    assert chosen(drop_tolerance=1e-3).preconditioner == pc.ILU(1e-3)
    assert chosen(preset={"fill_factor": 9}).preconditioner == pc.ILU(fill_factor=9.0)
    assert isinstance(chosen(True, time="march", drop_tolerance=1e-3).preconditioner, pc.Stages)


def test_bare_iterations_are_the_optimisers():
    settings = chosen(iterations=7, newton_iterations=3)
    assert (settings.optimiser.iterations, settings.newton.newton_iterations) == (7, 3)


@pytest.mark.parametrize(
    ("over_time", "keys", "problem", "remedy"),
    [
        (False, {"preconditioner": "lu", "drop_tolerance": 1e-3}, "drop_tolerance is not read with preconditioner=lu", "ilu"),
        (False, {"preconditioner": "auto-ilu", "drop_tolerance": 1e-3}, "belongs to preconditioner=ilu", "preconditioner=ilu"),
        (False, {"optimiser": "adam", "damping": 1e-3}, "damping is not read with optimiser=adam", "gauss-newton"),
        (False, {"steps": 4}, "steps is not read", "leave steps out"),
        (False, {"time": "march"}, "does not depend on time", "leave time out"),
        (True, {"time": "march", "preconditioner": "ilu"}, "a march has a preconditioner of its own", "stages"),
        (True, {"time": "march", "dense": "true"}, "dense is not read", ""),
        (True, {"time": "march", "quality_target": 0.1}, "quality_target is not read", ""),
        (True, {"time": "march", "forcing": 0.1}, "forcing is not read", ""),
        (True, {"time": "march", "certify": False}, "certify has no effect here: a march is estimated when", ""),
        (True, {"time": "march", "precision": "float32"}, "marches are in float64", ""),
        (True, {"time": "march", "mesh": "fdm"}, "needs finite elements", "fem"),
        (True, {"time": "slabs", "scheme": "euler"}, "scheme='euler' does not fit", "radau"),
        (False, {"preconditioner": "time-order"}, "cannot be used here", "auto-ilu"),
        (False, {"mesh": "fdm", "degree": 2}, "degree is not read with mesh=fdm", "fem"),
        (False, {"preconditioner": "ili"}, "there is no preconditioner 'ili'", "did you mean 'ilu'"),
        (False, {"widht": 3}, "there is no setting 'widht'", "did you mean 'width'"),
        (False, {"qqqq": 3}, "there is no setting 'qqqq'", "pcpinn settings"),
        (False, {"mesh.width": 3}, "there is no setting 'mesh.width'", ""),
        (False, {"width": 0}, "width=0 must be positive", "leave width out"),
        (False, {"time_limit": -1}, "time_limit=-1 must be positive", "no limit"),
        (False, {"cells": "0"}, "cells='0' does not fit", "whole numbers"),
        (False, {"seed": 2**63}, "too large", ""),
        (False, {"device": "tpu"}, "device='tpu' does not fit", "auto or cpu or cuda"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_refused(over_time, keys, problem, remedy):
    with pytest.raises(PcpinnError) as caught:
        chosen(over_time, **keys)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("key", ["dense", "fill_factor", "quality_target", "forcing", "certify"])
def test_a_preset_may_say_more_than_is_read(key):
    values = {"dense": "true", "fill_factor": 9.0, "quality_target": 0.1, "forcing": 0.2, "certify": False}
    settings = chosen(True, preset={"time": "march", key: values[key]})
    assert settings.marches
    assert settings.preconditioner.fill_factor == (9.0 if key == "fill_factor" else 50.0)


def test_the_user_wins_over_the_preset():
    preset = {"optimiser": "adam", "learning_rate": 1e-2, "iterations": 50, "width": 9}
    assert chosen(preset=preset).optimiser == pc.Adam(1e-2, iterations=50)
    assert chosen(preset=preset, width=5).network.width == 5
    switched = chosen(preset=preset, optimiser="gauss-newton")
    assert switched.optimiser == pc.GaussNewton(iterations=50)  # what both have stays
    assert chosen(preset=preset, optimiser=pc.GaussNewton()).optimiser == pc.GaussNewton()  # a whole recipe is whole


def test_updates_start_from_what_was_asked():
    settings = chosen(True, time="slabs", steps=7)
    assert settings.updated({"time": "simplex"}).time == pc.Simplices(7)
    assert isinstance(settings.updated({"time": "simplex"}).preconditioner, pc.AutoILU)
    assert settings.updated({"steps": 9}).time == pc.Slabs(9)
    assert settings.updated({}) is settings
    explicit = chosen(True, time="slabs", preconditioner="lu").updated({"time": "simplex"})
    assert explicit.preconditioner == pc.LU()


@pytest.mark.parametrize("over_time", [False, True])
@pytest.mark.parametrize("keys", [{}, {"time_limit": 3.0, "cells": "4x5", "kinks": "0.5;"}, {"preconditioner": "amg"}])
def test_plain_data_and_back(over_time, keys):
    settings = chosen(over_time, **keys)
    text = json.dumps(settings.to_dict(), allow_nan=False)
    back = Settings.from_dict(json.loads(text))
    assert back == settings
    slots = [k for k in settings.asked if "." not in k]  # a resumed run says "asked for" of what was asked for alone
    assert [k for k in back.asked if "." not in k] == slots


@pytest.mark.parametrize(
    "data", [{}, {"method": "pcpinn"}, {"cells": [3], "degree": 2}, {"method": 3, "inverse": 0, "over_time": 0}]
)
def test_other_data_is_refused(data):
    with pytest.raises(PcpinnError):
        Settings.from_dict(data)


def test_differences():
    usual = chosen()
    other = chosen(size=0.1, preconditioner="ilu", drop_tolerance=1e-3, seed=4, tolerance=1e-5)
    found = other.differences(usual)
    assert found == {
        "size": "0.1",
        "preconditioner": "ilu",
        "drop_tolerance": "0.001",
        "tolerance": "1e-05",
        "seed": "4",
    }
    assert usual.updated(found) == other
    assert usual.differences(usual) == {}


@pytest.mark.parametrize(
    ("key", "values", "text"),
    [
        ("drop_tolerance", ("1e-3", 0.001, "0.0010"), "0.001"),
        ("cells", ("40,40", (40, 40), "40x40"), "40x40"),
        ("certify", ("true", True), "true"),
        ("kinks", ("-2,2;0", ((-2.0, 2.0), (0.0,))), "-2,2;0"),
        ("preconditioner", ("lu",), "lu"),
        ("optimiser.iterations", (1e4, "10000"), "10000"),
    ],
)
def test_one_way_to_write_a_value(key, values, text):
    assert {canonical_value(key, value) for value in values} == {text}


def test_short_keys_are_unique_among_the_recipes_of_a_method():
    for over_time, keys in ((False, {}), (True, {}), (True, {"time": "slabs"}), (True, {"time": "march"})):
        settings = chosen(over_time, **keys)
        seen = [k for recipe in settings.recipes.values() for k in recipe.schema()]
        assert len(seen) == len(set(seen))


def test_every_key_is_documented_and_survives_as_text():
    for slot, registry in REGISTRIES.items():
        for recipe in registry:
            for key in recipe.schema().values():
                assert key.meaning, f"{slot}={recipe.name}: {key.name}"
                assert recipe().changed({key.name: as_text(key.default)}) == recipe(), key.name


def test_presets_of_another_method():
    preset = {"cells": (9,), "width": 7, "iterations": 30, "damping": 0.5, "preconditioner": "lu"}
    home = METHODS.find("pcpinn")
    own = resolve_preset(METHODS.find("pinn"), home, False, preset, "default", {})
    assert (own.mesh.cells, own.network.width, own.optimiser) == ((9,), 7, pc.Adam())  # not 30 steps of Adam
    quick = resolve_preset(METHODS.find("pinn"), home, False, preset, "quick", {"collocation": 50})
    assert (quick.optimiser.iterations, quick.loss.collocation) == (2000, 50)
    paper = resolve_preset(METHODS.find("pinn"), home, False, {"optimiser": "adam", "iterations": 300}, "paper", {})
    assert paper.optimiser == pc.Adam(iterations=300)
    assert set(SLOTS) - set(own.recipes) == {"time", "preconditioner"}
