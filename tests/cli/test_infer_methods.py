"""`pcpinn infer --method`."""

import json

import pytest

from pcpinn.cli.app import main


@pytest.mark.parametrize("method", ["adjoint", "pinn"])
def test_other_methods_write_the_same_record(method, tmp_path, capsys):
    out = tmp_path / "run"
    sets = ["--set", "cells=2,2", "--set", "iterations=2", "--set", "points=25"]
    sets += ["--set", "collocation=20"] if method == "pinn" else []
    with pytest.raises(SystemExit) as ended:
        main(["infer", "poisson-inv", "--preset", "quick", "--method", method, "--out", str(out), "--json", *sets])
    assert not ended.value.code
    result = json.loads(capsys.readouterr().out)
    assert result["method"] == method
    assert result["errors"]["l2re"] > 0
    assert set(result["errors"]["field"]) == {"u", "a"}
    assert {"run.json", "result.json", "history.csv", "solution.png", "report.html"} <= {p.name for p in out.iterdir()}
    with pytest.raises(SystemExit) as ended:
        main(["resume", str(out)])
    assert ended.value.code == 2
    assert "cannot be resumed" in " ".join(capsys.readouterr().err.split())


def test_a_method_that_is_none(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["infer", "poisson-inv", "--method", "magic", "--out", str(tmp_path / "run")])
    assert ended.value.code == 2
    assert "no method for inverse problems 'magic'" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
