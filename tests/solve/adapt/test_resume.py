"""Runs to an accuracy that were killed: they go on, and come to the same answer."""

import json
import warnings

import numpy as np
import pytest
import torch
from cli.typed import run

import pcpinn as pc
from pcpinn.errors import PcpinnError
from pcpinn.progress import Progress
from pcpinn.solve.adapt import accuracy, marched
from pcpinn.solve.adapt.sizes import Size

X = np.random.default_rng(0).random((200, 2))


class Killed(BaseException):
    """Stands for a kill."""


class KilledAt(Progress):
    """Ends a run at a note, or in the n-th iteration of a stage."""

    def __init__(self, note="", stage="", iteration=0, skip=0):
        self.wanted, self.in_stage, self.iteration, self.skip, self.now = note, stage, iteration, skip, ""

    def note(self, text):
        if self.wanted and text.startswith(self.wanted):
            raise Killed

    def stage(self, name, total=None):
        self.now = name

    def update(self, iteration, loss):
        if self.in_stage and self.now.startswith(self.in_stage) and iteration >= self.iteration:
            self.skip -= 1
            if self.skip < 0:
                raise Killed


def layer():
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: 0.003 * u.grad,
        source=lambda x, u: u.grad[0] - torch.exp(torch.sin(30 * x[0])),
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )


def wave():
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0),
                  "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0]), rate=0.0)},
    )  # fmt: skip


HARD = {"accuracy": 1e-6, "device": "cpu", "width": 12, "depth": 2, "iterations": 25}


@pytest.fixture(scope="module")
def whole_layer(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pc.solve(layer(), out=tmp_path_factory.mktemp("r") / "whole", **HARD)


def same(one, two):
    torch.testing.assert_close(one.network.theta, two.network.theta, rtol=0, atol=0)
    assert one.verdict == two.verdict
    assert one.result["adaptation"] == two.result["adaptation"]
    assert one.result["dofs"] == two.result["dofs"]


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
@pytest.mark.parametrize(
    "at",
    [{"note": "mesh 2"}, {"note": "width"}, {"stage": "training", "iteration": 9}],
    ids=["planning", "network", "training"],
)
def test_a_killed_layer_comes_to_the_same_answer(tmp_path, whole_layer, at):
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        pc.solve(layer(), out=folder, progress=KilledAt(**at), checkpoint_every=0.0, **HARD)
    assert not (folder / "result.json").exists()
    assert (folder / "checkpoint.safetensors").exists() is (at != {"note": "mesh 2"})
    with pytest.raises(PcpinnError, match="no finished run"):
        pc.load(folder)
    same(whole_layer, pc.solve(layer(), out=folder, resume=True, checkpoint_every=0.0, **HARD))
    assert sorted(p.name for p in folder.iterdir()) == [
        "history.csv", "mesh.safetensors", "network.safetensors", "result.json", "run.json"]  # fmt: skip
    np.testing.assert_array_equal(pc.load(folder)(X[:, :1]), whole_layer(X[:, :1]))


class Stages(Progress):
    """Collects the names of stages."""

    def __init__(self):
        self.names = []

    def stage(self, name, total=None):
        self.names.append(name.partition(" ")[0])


def then_twelve(rounds, *_):
    return (Size(12) if len(rounds) < 2 else None), None


TWO_OR_TWELVE = (marched, "first_width", lambda *_: 2), (marched, "next_size", then_twelve)
CASES = {
    "layer": (layer, [(accuracy, "_WIDTHS", (1, 2, 6))], {"accuracy": 1e-4}, "width 2"),
    "wave": (wave, TWO_OR_TWELVE, {"accuracy": 1e-4}, "width 2"),
    "wave, inside a march": (wave, TWO_OR_TWELVE, {"accuracy": 1e-4}, 13),
}


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
@pytest.mark.parametrize("name", CASES)
def test_networks_that_were_done_are_not_trained_again(tmp_path, monkeypatch, name):
    make, widths, options, cut = CASES[name]
    for change in widths:
        monkeypatch.setattr(*change)
    options = {**options, "device": "cpu", "checkpoint_every": 0.0}
    once = Stages()
    whole = pc.solve(make(), progress=once, **options)
    at = KilledAt(note=cut) if isinstance(cut, str) else KilledAt(stage="marching", iteration=cut, skip=5)
    with pytest.raises(Killed):
        pc.solve(make(), out=tmp_path / "run", progress=at, **options)
    done = [p for p in (tmp_path / "run" / "networks").iterdir() if (p / "result.json").exists()]
    rest = Stages()
    again = pc.solve(make(), out=tmp_path / "run", resume=True, progress=rest, **options)
    same(whole, again)
    assert len(whole.result["adaptation"]["networks"]) > 1
    assert done
    assert "plan" not in rest.names
    assert once.names.count("assembly") - rest.names.count("assembly") == len(done)
    assert again.names == whole.names


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
def test_a_network_that_was_begun_keeps_its_width_though_less_time_is_left(tmp_path, monkeypatch):
    for change in TWO_OR_TWELVE:
        monkeypatch.setattr(*change)
    options = {"accuracy": 1e-4, "device": "cpu", "checkpoint_every": 0.0, "out": tmp_path / "run"}
    with pytest.raises(Killed):
        pc.solve(wave(), progress=KilledAt(stage="marching", iteration=13, skip=5), **options)
    monkeypatch.setattr(marched, "next_size", lambda rounds, *_: (Size(7) if len(rounds) < 2 else None, None))
    again = pc.solve(wave(), resume=True, **options)
    assert [n["width"] for n in again.result["adaptation"]["networks"]] == [2, 12]


def test_seconds_before_a_kill_count(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        pc.solve(wave(), out=folder, progress=KilledAt(note="width"), accuracy=1e-2, device="cpu")
    done = folder / "networks" / "1" / "result.json"
    result = json.loads(done.read_text())
    done.write_text(json.dumps(result | {"time": result["time"] | {"total_s": 1000.0}}))
    again = pc.solve(wave(), out=folder, resume=True, accuracy=1e-2, device="cpu")
    assert again.result.seconds > 1000


def test_what_differs_is_refused(tmp_path):
    folder, options = tmp_path / "run", {"device": "cpu", "progress": Progress()}
    with pytest.raises(Killed):
        pc.solve(wave(), accuracy=1e-2, out=folder, device="cpu", progress=KilledAt(note="width"))
    with pytest.raises(PcpinnError, match=r"accuracy=0\.01, not 0\.001"):
        pc.solve(wave(), accuracy=1e-3, out=folder, resume=True, **options)
    with pytest.raises(PcpinnError, match="over_time=True, not False"):
        pc.solve(layer(), accuracy=1e-2, out=folder, resume=True, **options)
    with pytest.raises(PcpinnError, match="exists already"):
        pc.solve(wave(), accuracy=1e-2, out=folder, **options)
    pc.solve(wave(), accuracy=1e-2, out=folder, resume=True, time_limit=300.0, **options)
    with pytest.raises(PcpinnError, match="is finished"):
        pc.solve(wave(), accuracy=1e-2, out=folder, resume=True, **options)
    fixed = tmp_path / "fixed"
    pc.solve(layer(), accuracy=None, cells=4, width=2, iterations=2, out=fixed, **options)
    with pytest.raises(PcpinnError, match="not a run to an accuracy"):
        pc.solve(layer(), accuracy=1e-2, out=fixed, resume=True, **options)


def test_a_refused_problem_leaves_no_folder(tmp_path):
    problem = pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: torch.zeros(7) + u.value,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )
    with pytest.raises(PcpinnError):
        pc.solve(problem, accuracy=1e-2, out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        ({"left": pc.Dirichlet(0.0), "rihgt": pc.Dirichlet(0.0)}, "no boundary called 'rihgt'"),
        ({"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(lambda x: torch.zeros(7))}, r"shape \(7,\)"),
    ],
)
def test_folders_that_were_made_for_a_refused_run_go_too(tmp_path, sides, words):
    problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, boundary=sides)
    with pytest.raises(PcpinnError, match=words) as caught:
        pc.solve(problem, accuracy=1e-2, out=tmp_path / "runs" / "mine" / "run", device="cpu")
    assert list(tmp_path.iterdir()) == []
    assert "first guess" not in str(caught.value)  # a hint for other failures of a linear part


FILE = """
import pcpinn as pc
problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
                     boundary={'left': pc.Dirichlet(0.0), 'right': pc.Dirichlet(0.0)})
"""


def test_the_command_line_goes_on_with_an_interrupted_run(capfd, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(FILE)
    file, cut, whole = tmp_path / "mine.py", tmp_path / "cut", tmp_path / "whole"
    common = ("solve", file, "--accuracy", "1e-3", "--device", "cpu", "--set", "seed=3", "--out")
    with monkeypatch.context() as patch:

        def interrupted(*_):
            raise KeyboardInterrupt

        patch.setattr(accuracy.Trainer, "_errors", interrupted)
        code, _, err = run(capfd, *common, cut)
    assert code == 130
    assert "pcpinn resume" in err
    assert run(capfd, *common, whole)[0] == 0
    code, _, err = run(capfd, "resume", cut, "--problem", file, "--set", "iterations=3")
    assert code == 2
    code, out, err = run(capfd, "resume", cut, "--problem", file, "--set", "time_limit=500", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert result["verdict"]["reached"] is True
    assert result["seed"] == 3
    np.testing.assert_array_equal(pc.load(cut)(X[:, :1]), pc.load(whole)(X[:, :1]))
