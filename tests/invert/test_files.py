"""Inverse answers on disk: all that was found comes back, whoever saved it, and a folder is never half an inverse run."""

import numpy as np
import pytest
from rods import SMALL, UNKNOWN, bar, bar_data, rod, rod_data

import pcpinn as pc
from pcpinn.solution import folder as run_folder
from pcpinn.solve import conduct

X = np.linspace(0, 1, 21)[:, None]


def test_a_saved_answer_keeps_coefficients_posterior_and_data(tmp_path):
    found = pc.infer(rod, rod_data(), UNKNOWN, **SMALL)
    back = pc.load(found.save(tmp_path / "run"))
    assert isinstance(back, pc.InverseSolution)
    np.testing.assert_array_equal(back(X), found(X))
    np.testing.assert_array_equal(back.coefficient("a")(X), found.coefficient("a")(X))
    np.testing.assert_allclose(back.std("a", X), found.std("a", X), atol=1e-6)
    np.testing.assert_array_equal(back.data[0].values, rod_data().values)
    again = pc.load(back.save(tmp_path / "again"))  # what was loaded is saved as whole
    np.testing.assert_array_equal(again.coefficient("a")(X), found.coefficient("a")(X))
    np.testing.assert_array_equal(again.std("a", X), back.std("a", X))


@pytest.mark.parametrize(
    ("method", "options"),
    [("adjoint", SMALL), ("pinn", {"iterations": 20, "collocation": 32, "width": 8, "depth": 1, "device": "cpu"})],
)
def test_answers_of_other_methods_are_saved_whole(tmp_path, method, options):
    from pcpinn.solve.method import INVERSE_METHODS

    options = {k: v for k, v in options.items() if method == "pinn" or k in ("cells", "degree", "device")}
    found = INVERSE_METHODS.find(method).solver(bar, bar_data(0), {"k": pc.Parameter(1.0, low=0.1)}, **options)
    back = pc.load(found.save(tmp_path / "run"))
    assert isinstance(back, pc.InverseSolution)
    np.testing.assert_array_equal(back.parameters["k"], found.parameters["k"])
    np.testing.assert_array_equal(back(X), found(X))


def test_a_folder_holds_its_data_from_the_first_moment(tmp_path, monkeypatch):
    """Nothing can come between run.json and the data: the folder appears with both, or not at all."""
    seen = []
    create = run_folder.create_run

    def looking(folder, *rest):
        create(folder, *rest)
        seen.append({p.name for p in folder.iterdir()})

    monkeypatch.setattr(conduct, "create_run", looking)
    pc.infer(bar, bar_data(0), {"k": pc.Parameter(1.0)}, out=tmp_path / "run", **SMALL)
    assert seen == [{"run.json", "mesh.safetensors", "data.safetensors"}]


def test_what_fails_while_it_is_saved_leaves_nothing(tmp_path, monkeypatch):
    found = pc.infer(bar, bar_data(0), {"k": pc.Parameter(1.0)}, **SMALL)

    def full(*_):
        raise pc.PcpinnError("the disk is full")

    monkeypatch.setattr("pcpinn.solution.solution.finish_run", full)
    with pytest.raises(pc.PcpinnError, match="full"):
        found.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())
