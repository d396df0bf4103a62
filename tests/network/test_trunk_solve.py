"""A branch that solves a small system made by units of the parameters."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.network.recipe import Place
from pcpinn.solution.folder import read_network, write_network

M, K, ROWS, R = 5, 3, 2, 4


@pytest.fixture
def network():
    recipe = pc.TrunkSolve(width=6, depth=1, places=M, place_rows=ROWS, coordinates=R, features="none")
    return recipe.build_family(Place((0.0, 0.0), (1.0, 2.0), 1), K, 3, torch.float64)


def test_values_are_those_of_the_system_written_out(network):
    (trunk,), ((W, b), (s, c), (G, d), (F, g), (M_, m)) = (
        [tuple(t.detach().numpy() for t in layer) for layer in layers] for layers in network.layers(network.theta)
    )
    z, x = np.array([0.2, -0.5, 0.9]), np.array([0.3, 1.2])
    A = G[:, M * ROWS :] @ G[:, M * ROWS :].T
    for place in range(M):
        a = np.exp(c[place] + s[place, 0] * np.tanh(W[place] @ z + b[place]))
        rows = G[:, place * ROWS : (place + 1) * ROWS]
        A = A + a * rows @ rows.T
    head = M_ @ (np.linalg.solve(A, F @ z + g) + d) + m
    phi = np.tanh(trunk[0] @ (2 * x / np.array([1, 2]) - 1) + trunk[1])
    expected = head[:-1] @ phi + head[-1]
    point = torch.from_numpy(np.concatenate([z, x]))
    assert float(network(point[None])[0, 0].detach()) == pytest.approx(expected, rel=1e-9)
    assert float(network.at(torch.from_numpy(z))(point[None, K:])[0, 0].detach()) == pytest.approx(expected, rel=1e-9)


def test_derivatives_by_parameters(network):
    x, z = torch.rand(4, 2, dtype=torch.float64), torch.tensor([0.1, -0.3, 0.6], dtype=torch.float64)
    slope = torch.func.jacfwd(lambda p: network.for_one(p, x))(z).detach()
    step = 1e-6
    for k in range(K):
        e = step * torch.eye(K, dtype=torch.float64)[k]
        difference = (network.for_one(z + e, x) - network.for_one(z - e, x)).detach() / (2 * step)
        assert torch.allclose(slope[..., k], difference, rtol=1e-6, atol=1e-9)


def test_it_comes_back_from_a_file(network, tmp_path):
    write_network(tmp_path / "network.safetensors", network)
    back = read_network(tmp_path / "network.safetensors")
    assert type(back) is type(network)
    points = torch.rand(6, K + 2, dtype=torch.float64)
    assert torch.equal(back(points), network(points))


def test_refused(network):
    with pytest.raises(pc.PcpinnError, match="families"):
        pc.TrunkSolve().build(Place((0.0,), (1.0,), 1), 0, torch.float64)
    with pytest.raises(pc.PcpinnError, match="coordinates"):
        network.jacobian(torch.zeros(1, K + 2), torch.zeros(1, dtype=torch.long))
