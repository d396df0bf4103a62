"""What once ended in a traceback ends in a message, or in an answer."""

import errno
import json

import numpy as np
import pytest
import torch
from small import QUICK, line, quick

import pcpinn as pc
from pcpinn.catalog.begun import read_begun
from pcpinn.checkpoint import FILE
from pcpinn.discretize.space import ScalarSpace
from pcpinn.files import read_tensors, write_tensors
from pcpinn.invert.choice import Discrete
from pcpinn.mesh.generate import generate_mesh
from pcpinn.train.damping import Nielsen

ENDS = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}
X = np.linspace(0.05, 0.95, 20)[:, None]


def bar(k):
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: k * u.grad, source=lambda x, u: -1.0, boundary=ENDS)


def infer(points=X, noise=0.003):
    values = X[:, 0] * (1 - X[:, 0]) / 4 + 0.003 * np.random.default_rng(0).normal(size=20)
    return pc.infer(bar, pc.Observations(points, values, noise), {"k": pc.Parameter(1.0, low=0.1)}, **QUICK)


@pytest.mark.parametrize("count", [-1e308, 1e308, 10**400, "1" + 400 * "0"])
@pytest.mark.parametrize("key", ["feature_count", "width", "depth"])
def test_sizes_that_no_float_can_hold(key, count):
    with pytest.raises(pc.PcpinnError):
        pc.solve(line(), {**QUICK, key: count})


def test_a_march_in_single_precision_is_refused():
    heat = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={**ENDS, "initial": pc.Initial(lambda x: x[0] * (1 - x[0]))},
    )
    with pytest.raises(pc.PcpinnError, match="marches are in float64"):
        pc.solve(heat, time="march", steps=4, precision="float32", **QUICK)


def test_noise_that_is_far_too_small():
    with pytest.warns(pc.PcpinnWarning, match="given noise"):
        assert np.isfinite(infer(noise=1e-9).parameters["k"])


def test_a_posterior_that_cannot_be_computed(monkeypatch):
    def singular(*_):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr(Discrete, "solve", singular)
    with pytest.raises(pc.PcpinnError, match=r"noise of 3\.0e-03 is too small.*\n.*really have"):
        infer()


@pytest.mark.parametrize("far", [1e300, -1e300, 1e160, 3.0])
def test_a_point_beyond_all_bounds(far):
    points = X.copy()
    points[3] = far
    with pytest.raises(pc.PcpinnError, match=r"row 4: the point .* lies outside the domain"):
        infer(points)
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(3, 3))
    x = np.array([[0.5, 0.5], [far, 0.5], [0.5, 1.01]])
    assert ScalarSpace(mesh, 1).outside(x).tolist() == [False, True, True]


def test_a_gain_beyond_all_promise():
    """As networks of a hundred thousand features have: the model foretells next to nothing."""
    theta, state = torch.zeros(1), Nielsen.start(1.0)
    rule = Nielsen()
    rule.descend(theta, 1e-100, state, lambda damping: (torch.ones(1), 1e-300), lambda: 0.0, 1.0)
    assert 0 < float(state["damping"]) < 1.0


def test_settings_without_a_name():
    with pytest.raises(pc.PcpinnError, match="1 is not the name of a setting"):
        pc.solve(line(), {1: 2}, device="cpu")


@pytest.mark.parametrize("to", ["to_vtu", "to_npz"])
def test_folders_that_cannot_be_written(to, monkeypatch):
    """As on a read-only disk, where removing what is not there fails, too."""

    def refused(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.mkdir", refused)
    monkeypatch.setattr("pathlib.Path.unlink", refused)
    with pytest.raises(pc.PcpinnError, match="Read-only"):
        getattr(quick(), to)("somewhere/else.file")


@pytest.mark.parametrize("change", [lambda v: v.astype(np.int64), lambda v: v > 0, None], ids=["int", "bool", "gone"])
def test_a_checkpoint_whose_damping_is_of_another_type(tmp_path, change):
    quick(out=tmp_path / "run", checkpoint_every=0.0)
    tensors, metadata = read_tensors(tmp_path / "run" / FILE)
    damping = tensors.pop("state.damping")
    tensors |= {} if change is None else {"state.damping": change(damping)}
    write_tensors(tmp_path / "run" / FILE, tensors, metadata)
    with pytest.raises(pc.PcpinnError, match="damaged: damping of the optimiser"):
        quick(out=tmp_path / "run", resume=True, iterations=6)


@pytest.mark.parametrize(
    "change", [{"preset": {}}, {"source": {"kind": ["file"], "name": "x"}}, {"problem_parameters": 3}]
)
def test_a_record_whose_words_are_no_words(tmp_path, change):
    quick(out=tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    record = {**json.loads(path.read_text()), "preset": "default", "source": {"kind": "file", "name": "x"}}
    path.write_text(json.dumps(record))
    assert read_begun(tmp_path / "run", {}, ()).preset == "default"
    path.write_text(json.dumps({**record, **change}))
    with pytest.raises(pc.PcpinnError, match="does not say how to continue"):
        read_begun(tmp_path / "run", {}, ())


def test_values_whose_squares_are_beyond_all_numbers():
    far = {"left": pc.Dirichlet(1e160), "right": pc.Dirichlet(0.0)}
    data = pc.Observations(X, X[:, 0], 0.003)
    with pytest.raises(pc.PcpinnError, match="squared, are not finite"), np.errstate(all="ignore"):
        pc.infer(
            lambda a: pc.Problem(pc.Interval(0, 1), flux=lambda x, u: a(x) * u.grad, boundary=far),
            data,
            {"a": pc.Coefficient(low=0.1)},
            **QUICK,
        )
