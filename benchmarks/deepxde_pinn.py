"""The catalog's problems for DeepXDE's PINN, with the network, the weights and the optimiser of a pcpinn run.

DeepXDE (https://github.com/lululxvi/deepxde) is needed for this comparison only: pip install -e '.[bench]'
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from recorder import Recorder

from pcpinn import PcpinnError
from pcpinn.network import DenseNetwork
from pcpinn.solve.settings import Settings

INSTALL = "pip install -c constraints.txt deepxde"
available = importlib.util.find_spec("deepxde") is not None


def train(
    name: str, network: DenseNetwork, interior: int, boundary: Mapping[str, int], settings: Settings, out: Recorder
) -> None:
    """Train until the recorder's time is over, on as many points as given: inside, and on each named boundary."""
    if name not in _DATA:
        raise PcpinnError(f"{name} has not been written down for DeepXDE", f"only {', '.join(_DATA)} have")
    dde = _import(network.theta.device)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            dde.config.set_random_seed(settings.run.seed)
            out.start()
            data = _DATA[name](dde, interior, boundary)
            net = _network(dde, network)
            model = dde.Model(data, net)
            own = settings.optimiser
            adam = torch.optim.Adam(net.parameters(), lr=own.learning_rate, betas=(own.beta1, own.beta2))
            model.compile(adam, verbose=0)
            model.train(iterations=10**9, display_every=10**9, verbose=0, callbacks=[_listener(dde, out, net, network)])
    finally:
        torch.set_default_device(None)


def _import(device: torch.device) -> Any:
    """DeepXDE takes a GPU as torch's default device wherever there is one; ask for ours instead."""
    os.environ["DDE_BACKEND"] = "pytorch"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import deepxde as dde
    torch.set_default_device(device)
    return dde


def _network(dde: Any, like: DenseNetwork) -> Any:
    """The same features, layers and first weights as those of a pcpinn network."""
    centre, half_width, frequencies = like.centre.clone(), like.half_width.clone(), like.frequencies.clone()
    a = like.architecture
    sizes = [len(centre) + 2 * frequencies.shape[1]] + [a.width] * a.depth + [like.outputs]
    net = dde.nn.FNN(sizes, a.activation, "Glorot uniform")

    def features(x: torch.Tensor) -> torch.Tensor:
        scaled = (x - centre) / half_width
        phase = scaled @ frequencies
        return torch.cat([scaled, torch.sin(phase), torch.cos(phase)], dim=-1)

    net.apply_feature_transform(features)
    with torch.no_grad():
        parameters = [p for linear in net.linears for p in (linear.weight, linear.bias)]
        parts = like.theta.split([p.numel() for p in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.copy_(part.view_as(parameter))
    return net


def _listener(dde: Any, out: Recorder, net: Any, network: DenseNetwork) -> Any:
    class Listener(dde.callbacks.Callback):
        def on_train_begin(self) -> None:
            out.begin_training()

        def on_epoch_end(self) -> None:
            out.tick(self.model.train_state.iteration, predict)

    def predict(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return net(torch.as_tensor(x).to(network.theta)).double().cpu().numpy()

    return Listener()


def _poisson1d(dde: Any, interior: int, boundary: Mapping[str, int]) -> Any:
    geometry = dde.geometry.Interval(0, 2 * np.pi)

    def pde(x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return -dde.grad.hessian(u, x) - torch.sin(x)

    ends = dde.icbc.DirichletBC(geometry, lambda x: 0.0, lambda x, on: on)
    return dde.data.PDE(geometry, pde, [ends], num_domain=interior, num_boundary=2)


def _holes(
    half: float, disks: tuple[tuple[float, float, float], ...], k: float, f: Callable, outer: float, holes: float
) -> Callable[..., Any]:
    """-Laplace u + k^2 u = f on a square of half a side `half` without the disks, with constant values."""

    def data(dde: Any, interior: int, boundary: Mapping[str, int]) -> Any:
        square = geometry = dde.geometry.Rectangle([-half, -half], [half, half])
        for x, y, r in disks:
            geometry = geometry - dde.geometry.Disk([x, y], r)

        def pde(x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
            return -dde.grad.hessian(u, x, i=0, j=0) - dde.grad.hessian(u, x, i=1, j=1) + k**2 * u - f(x)

        conditions = [
            dde.icbc.DirichletBC(geometry, lambda x: outer, lambda x, on: on and square.on_boundary(x)),
            dde.icbc.DirichletBC(geometry, lambda x: holes, lambda x, on: on and not square.on_boundary(x)),
        ]
        return dde.data.PDE(geometry, pde, conditions, num_domain=interior, num_boundary=sum(boundary.values()))

    return data


def _cg_source(x: torch.Tensor) -> torch.Tensor:
    a, b = x[:, :1], x[:, 1:]
    return 10 * (17 + a**2 + b**2) * torch.sin(torch.pi * a) * torch.sin(4 * torch.pi * b)


def _wave1d(dde: Any, interior: int, boundary: Mapping[str, int]) -> Any:
    space = dde.geometry.Interval(0, 1)
    geometry = dde.geometry.GeometryXTime(space, dde.geometry.TimeDomain(0, 1))

    def pde(x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return dde.grad.hessian(u, x, i=1, j=1) - 4 * dde.grad.hessian(u, x, i=0, j=0)

    def start(x: np.ndarray) -> np.ndarray:
        return np.sin(np.pi * x[:, :1]) + 0.5 * np.sin(4 * np.pi * x[:, :1])

    conditions = [
        dde.icbc.DirichletBC(geometry, lambda x: 0.0, lambda x, on: on),
        dde.icbc.IC(geometry, start, lambda x, on: on),
        dde.icbc.OperatorBC(
            geometry, lambda x, u, _: dde.grad.jacobian(u, x, i=0, j=1), lambda x, _: bool(np.isclose(x[1], 0))
        ),
    ]
    ends = boundary["left"] + boundary["right"]
    return dde.data.TimePDE(
        geometry, pde, conditions, num_domain=interior, num_boundary=ends, num_initial=boundary["initial"]
    )


_FOUR = tuple((x, y, 0.1) for x in (-0.3, 0.3) for y in (-0.3, 0.3))
_VARIED = ((0.5, 0.5, 0.2), (0.4, -0.4, 0.4), (-0.2, -0.7, 0.1), (-0.6, 0.5, 0.3))
_DATA: dict[str, Callable[..., Any]] = {
    "poisson1d": _poisson1d,
    "poisson2d-c": _holes(0.5, _FOUR, 0.0, lambda x: 0.0, outer=1.0, holes=0.0),
    "poisson2d-cg": _holes(1.0, _VARIED, 8.0, _cg_source, outer=0.2, holes=1.0),
    "wave1d-c": _wave1d,
}
