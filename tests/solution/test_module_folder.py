"""Networks made of modules on disk: weights and buffers come back, code does not, other modules are refused."""

import numpy as np
import pytest
import torch
from modules import ResNet, Siren
from torch import nn

from pcpinn import Field, Interval, PcpinnError, Solution, load
from pcpinn.files import read_tensors, write_tensors
from pcpinn.mesh.generate import generate_mesh
from pcpinn.network import Architecture, DenseNetwork, ModuleNetwork
from pcpinn.solution.folder import read_network, write_network

X = torch.linspace(-1, 3, 9, dtype=torch.float64)[:, None]


def trained(kind=ResNet, dtype=torch.float64, outputs=2):
    """A network whose weights, units and box are not those of a fresh one."""
    network = ModuleNetwork(kind(1, outputs), [-1.0], [3.0], outputs, dtype)
    with torch.no_grad():
        network.theta.add_(torch.linspace(-0.1, 0.1, network.parameter_count))
        network.output_scale.fill_(20.0)
    return network


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "network.safetensors"
    network = trained()
    write_network(path, network)
    return path, network


@pytest.mark.parametrize("kind", [Siren, ResNet])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_round_trip(tmp_path, kind, dtype):
    network = trained(kind, dtype)
    write_network(tmp_path / "n", network)
    module = kind(1, 2, seed=8)
    before = {k: v.clone() for k, v in module.state_dict().items()}
    back = read_network(tmp_path / "n", module)
    assert back.theta.dtype == dtype
    assert torch.equal(back(X.to(dtype)), network(X.to(dtype)))
    assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())


def test_what_is_in_the_file(stored):
    """Tensors by the module's own names, frozen ones and buffers too; the name of the class, nothing of its code."""
    tensors, metadata = read_tensors(stored[0])
    assert metadata == {"kind": "module", "class": "modules.ResNet", "outputs": 2}
    assert {"module.lift.weight", "module.shift", "module.frequencies", "centre", "output_scale"} <= tensors.keys()
    assert tensors["module.lift.weight"].shape == (16, 9)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (ResNet(1, 2, width=8), r"lift.weight: \(16, 9\) in the file, \(8, 9\) in the module.*; and \d+ more"),
        (Siren(1, 2), "first.weight: absent in the file"),
        (ResNet(1, 1), "expected"),
        (nn.Tanh(), "no parameters to train"),
        (ResNet, "not a torch.nn.Module"),
    ],
)
def test_a_module_that_does_not_fit(stored, module, message):
    with pytest.raises(PcpinnError, match=message) as refusal:
        read_network(stored[0], module)
    assert refusal.value.remedy


def test_a_module_of_the_same_shapes_that_computes_something_else(tmp_path):
    write_network(tmp_path / "n", trained(Siren))
    with pytest.raises(PcpinnError, match="is not the function"):
        read_network(tmp_path / "n", Siren(1, 2, omega=5.0))


def test_no_module_where_one_is_needed_or_one_where_none_is(stored, tmp_path):
    with pytest.raises(PcpinnError, match=r"weights of modules\.ResNet, whose code is not kept on disk") as refusal:
        read_network(stored[0])
    assert "network=ResNet(...)" in refusal.value.remedy
    write_network(tmp_path / "mlp", DenseNetwork(Architecture(4, 1), [0.0], [1.0], 1, torch.Generator()))
    with pytest.raises(PcpinnError, match="does not hold the weights of a module"):
        read_network(tmp_path / "mlp", Siren())


@pytest.mark.parametrize(
    ("arrays", "metadata"),
    [
        ({"probe": None}, {}),
        ({"probe": np.zeros(3)}, {}),
        ({"centre": None}, {}),
        ({"centre": np.array(0.5)}, {}),
        ({"half_width": np.zeros(1)}, {}),
        ({"half_width": np.ones(2)}, {}),
        ({"output_scale": np.array(np.nan)}, {}),
        ({"module.last.bias": np.full(2, np.nan)}, {}),
        ({"module.last.bias": np.ones(2)}, {}),
        ({"module.last.bias": None}, {}),
        ({"extra": np.zeros(1)}, {}),
        ({"ansatz.linear": np.zeros(1)}, {}),
        ({}, {"outputs": 3}),
        ({}, {"outputs": "many"}),
        ({}, {"kind": "mlp"}),
        ({}, {"kind": "magic"}),
        ({}, {"kind": None}),
    ],
)
def test_damaged_files(stored, arrays, metadata):
    tensors, facts = read_tensors(stored[0])
    tensors = {k: v for k, v in {**tensors, **arrays}.items() if v is not None}
    write_tensors(stored[0], tensors, {k: v for k, v in {**facts, **metadata}.items() if v is not None})
    with pytest.raises(PcpinnError):
        read_network(stored[0], ResNet(1, 2))


def test_a_buffer_may_hold_infinities(tmp_path):
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(1, 3)
            self.register_buffer("mask", torch.tensor([0.0, float("-inf"), 0.0]), persistent=False)

        def forward(self, x):
            return (self.line(x) + self.mask).softmax(-1)[:, :1]

    network = ModuleNetwork(Masked(), [-1.0], [3.0], 1)
    write_network(tmp_path / "n", network)
    assert torch.equal(read_network(tmp_path / "n", Masked())(X), network(X))


def test_a_network_of_another_kind_cannot_be_written(tmp_path):
    with pytest.raises(PcpinnError, match="Linear cannot be written"):
        write_network(tmp_path / "n", nn.Linear(1, 1))


def test_a_solution_is_saved_and_loaded(tmp_path):
    mesh = generate_mesh(Interval(-1, 3), cells=2)
    solution = Solution(trained(), (Field("u"), Field("v")), mesh, {})
    folder = solution.save(tmp_path / "run")
    np.testing.assert_array_equal(load(folder, network=ResNet(1, 2))(X.numpy()), solution(X.numpy()))
    with pytest.raises(PcpinnError, match="whose code is not kept on disk"):
        load(folder)
