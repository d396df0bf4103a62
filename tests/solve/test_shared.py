"""One problem on two processes: the same answer as in one, to rounding; what cannot be shared is refused."""

import os
import subprocess
import sys
from pathlib import Path

import members
import numpy as np
import pytest
import torch
import torch.distributed as dist

import pcpinn
from pcpinn.baselines import solve_pinn
from pcpinn.errors import PcpinnError
from pcpinn.solve import conduct, method, shared
from pcpinn.solve.linear import settings_of
from pcpinn.team import Team, present_team

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(pcpinn.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def run_together(folder, size, cases):
    """What the processes found, by case."""
    store, out = folder / f"store {size}", folder / f"found {size}.npz"
    command = [sys.executable, members.__file__]
    started = [
        subprocess.Popen([*command, str(rank), str(size), str(store), str(out), *cases], env=ENVIRONMENT)
        for rank in range(size)
    ]
    assert [process.wait(timeout=300) for process in started] == [0] * size
    return np.load(out)


@pytest.fixture(scope="module")
def by_two(tmp_path_factory):
    return run_together(tmp_path_factory.mktemp("team"), 2, members.CASES)


@pytest.mark.parametrize("case", members.CASES)
def test_two_processes_find_what_one_finds(by_two, case):
    values, losses = members.values(case)
    assert np.ptp(values) > 0.1
    np.testing.assert_allclose(by_two[f"{case}: values"], values, rtol=0, atol=1e-10 * abs(values).max())
    np.testing.assert_allclose(by_two[f"{case}: losses"], losses, rtol=1e-6, atol=1e-20)


def test_a_group_of_one_goes_the_same_way():
    """All exchanges are made, with oneself."""
    values, _ = members.values("march")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        same, _ = members.values("march")
        assert present_team().size == 1
    finally:
        dist.destroy_process_group()
    np.testing.assert_allclose(same, values, rtol=0, atol=1e-10 * abs(values).max())


@pytest.fixture
def three(monkeypatch):
    """As if three processes had been started."""
    team = Team()
    team.size = 3
    for module in (shared, conduct, method):
        monkeypatch.setattr(module, "present_team", lambda: team)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"preconditioner": "ilu"}, "preconditioner=ilu cannot be shared by 3 processes"),
        ({"optimiser": "lbfgs"}, "optimiser=lbfgs cannot be shared"),
    ],
)
def test_settings_that_cannot_be_shared(three, changes, words):
    settings = {**members.WHOLE, "optimiser": "adam", "iterations": 2, **changes}
    settings = {k: v for k, v in settings.items() if k != "parts" or settings["preconditioner"] == "schwarz"}
    with pytest.raises(PcpinnError, match=words):
        pcpinn.solve(members.reaction(0.0), settings, accuracy=None)


def test_an_adapted_mesh_cannot_be_shared(three):
    with pytest.raises(PcpinnError, match="adapted in one process, and 3 were started"):
        pcpinn.solve(members.reaction(0.0), accuracy=0.1)


def test_other_methods_cannot_be_shared(three):
    with pytest.raises(PcpinnError, match="method=pinn runs in one process"):
        solve_pinn(members.reaction(0.0), {"iterations": 1})


@pytest.mark.parametrize("changes", [{"linearisation": "none"}, {"window": 2, "causality": 1.0}])
def test_marches_that_cannot_be_cut(changes):
    head = {"head_steps": 0} if "linearisation" in changes else {}
    settings = {**members.MARCH, "optimiser": "adam", "iterations": 1, **head, **changes}
    with pytest.raises(PcpinnError, match="in one piece"):
        pcpinn.solve(members.burgers(), settings, accuracy=None)


def test_more_processes_than_gpus(three, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    chosen = settings_of("pcpinn", members.reaction(0.0), {"preconditioner": "schwarz"}, {})
    with pytest.raises(PcpinnError, match="3 processes on a machine with 2 GPUs"):
        shared.refuse_unshared(chosen, adaptable=False)


def test_schwarz_is_what_processes_take_by_themselves(three):
    assert settings_of("pcpinn", members.reaction(0.0), None, {}).preconditioner.name == "schwarz"
