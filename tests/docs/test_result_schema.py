"""docs/reference/result.schema.json: records of every kind of run are as it says, and it describes all of their keys."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import pcpinn as pc

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "reference" / "result.schema.json").read_text(encoding="utf-8")
)
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "array": list,
         "object": dict}  # fmt: skip


def faults(value, schema, where=""):
    """What is wrong with a value, by the parts of JSON schema that ours uses."""
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if not any(
        isinstance(value, TYPES[k]) and not (isinstance(value, bool) and k in ("integer", "number")) for k in kinds
    ):
        yield f"{where} is {value!r}, not {kinds}"
    elif isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (f"{where}.{k} is missing" for k in schema.get("required", ()) if k not in value)
        if schema.get("additionalProperties") is False:
            yield from (f"{where}.{k} is not described" for k in value if k not in known)
        for key in value.keys() & known.keys():
            yield from faults(value[key], known[key], f"{where}.{key}")


def poisson():
    return pc.Problem(
        pc.Interval(0, 1, name="ends"), flux=lambda x, u: u.grad, source=lambda x, u: -1.0, boundary={"ends": pc.Dirichlet(0.0)}
    )  # fmt: skip


def heat():
    return pc.Problem(
        pc.Interval(0, 1, name="ends").over(0, 0.1), density=lambda x, u: u.value, flux=lambda x, u: u.grad,
        boundary={"ends": pc.Dirichlet(0.0), "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0]))},
    )  # fmt: skip


def given():
    x = np.linspace(0, 1, 20)[:, None]
    reference = pc.Reference(x, x[:, 0] * (1 - x[:, 0]) / 2)
    return pc.solve(poisson(), cells=6, width=6, iterations=3, reference=reference)


def adapted():
    return pc.solve(poisson(), accuracy=5e-2)


def marched():
    return pc.solve(heat(), cells=6, time=pc.March(steps=2), width=20, depth=1, iterations=0)


def inverse():
    def rod(k):
        return pc.Problem(pc.Interval(0, 1, name="ends"), flux=lambda x, u: k * u.grad, source=lambda x, u: -1.0,
                          boundary={"ends": pc.Dirichlet(0.0)})  # fmt: skip

    x = np.linspace(0.1, 0.9, 20)[:, None]
    data = pc.Observations(x, x[:, 0] * (1 - x[:, 0]) / 4, noise=1e-2)
    return pc.infer(rod, data, {"k": pc.Parameter(1.0, low=0.0)}, cells=6, width=6, iterations=5)


def family():
    def rod(k):
        return pc.Problem(pc.Interval(0, 1, name="ends"), flux=lambda x, u: k * u.grad, source=lambda x, u: -1.0,
                          boundary={"ends": pc.Dirichlet(0.0)})  # fmt: skip

    return pc.solve(pc.Family(rod, k=pc.Range(1.0, 2.0)), cells=6, width=6, depth=1, iterations=3)


@pytest.mark.parametrize(("make", "part"), [(given, "certificate"), (adapted, "adaptation"), (marched, "march"),
                                            (inverse, "inverse"), (family, "family")])  # fmt: skip
def test_records_are_as_the_schema_says(make, part):
    result = json.loads(json.dumps(make().result))
    assert result[part], "what this kind of run has of its own"
    assert not list(faults(result, SCHEMA))
    assert not result.keys() - SCHEMA["properties"].keys(), "every key is described"


def test_faults_are_noticed():
    result = dict(given().result)
    assert any("verdict" in f for f in faults({**result, "verdict": {**result["verdict"], "colour": "red"}}, SCHEMA))
    assert any("seed" in f for f in faults({**result, "seed": "zero"}, SCHEMA))
    assert any("missing" in f for f in faults({k: v for k, v in result.items() if k != "errors"}, SCHEMA))
