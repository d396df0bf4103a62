"""Networks as graphs of operations, for programs without pcpinn: ONNX, and torch's own format."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from ..files import make_folder_of, write_atomically
from ..network.boxed import BoxedNetwork
from ..network.marched import MarchedNetwork, RecordedMarch

_POINTS = 5  # of the example that is recorded; any number but 0 and 1, which torch takes for constants


class ValuesAndGradients(nn.Module):
    """Points (n, d) -> values (n, C) and their derivatives by the coordinates (n, C, d)."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Both at once."""
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            values = self.network(x)
            rows = [torch.autograd.grad(v.sum(), x, retain_graph=True)[0] for v in values.unbind(-1)]
        return values.detach(), torch.stack(rows, dim=1)


def write_pt2(network: nn.Module, inputs: int, path: Path) -> Path:
    """The values, as `torch.export.load` reads them; the graph that it gives can be differentiated."""
    graph, x = _ready(network, inputs)
    buffer = io.BytesIO()
    with _told_plainly(network, path), _quiet():
        torch.export.save(_recorded(graph, x), buffer)
    make_folder_of(path)
    write_atomically(path, buffer.getvalue())
    return path


def write_onnx(network: nn.Module, inputs: int, path: Path, facts: dict[str, Any]) -> Path:
    """Values and gradients as an ONNX graph: input `x` (n, d), outputs `values` (n, C) and `gradients` (n, C, d).

    Args:
        network: takes points (n, inputs).
        inputs: number of coordinates.
        path: NAME.onnx.
        facts: plain data about it, kept in the file as text.

    Raises:
        PcpinnError: where onnx is not installed, or the network has operations that ONNX has not.
    """
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
        from torch.fx.experimental.proxy_tensor import make_fx
    except ModuleNotFoundError as error:
        raise PcpinnError(f"ONNX files need {error.name}", "pip install 'pcpinn[export]'") from error
    graph, x = _ready(network, inputs)
    with _told_plainly(network, path), _quiet():
        # traced with its gradients first: torch.export alone does not record torch.autograd.grad
        flat = make_fx(ValuesAndGradients(graph), tracing_mode="symbolic", _allow_non_fake_inputs=True)(x)
        _keep_digits(flat, x.dtype)
        program = torch.onnx.export(
            _recorded(flat, x),
            (x,),
            dynamo=True,
            verbose=False,
            input_names=["x"],
            output_names=["values", "gradients"],
        )
        assert program is not None
        program.model.metadata_props.update({f"pcpinn.{k}": json.dumps(v) for k, v in facts.items()})
        content = program.model_proto.SerializeToString()
    make_folder_of(path)
    write_atomically(path, content)
    return path


def _ready(network: nn.Module, inputs: int) -> tuple[nn.Module, Tensor]:
    """A copy on the CPU that needs no gradients by its weights, and points to record it at."""
    if not isinstance(network, MarchedNetwork | BoxedNetwork):
        raise PcpinnError(
            f"{type(network).__name__} holds nodal values, which are no network",
            "export them with --to vtu or --to npz",
        )
    dtype = network.theta.dtype
    graph: nn.Module = copy.deepcopy(network).cpu().requires_grad_(False)
    if isinstance(graph, MarchedNetwork):
        graph = RecordedMarch(graph)
    return graph, torch.as_tensor(np.linspace(0, 1, _POINTS * inputs).reshape(_POINTS, inputs)).to(dtype)


def _recorded(graph: nn.Module, x: Tensor) -> torch.export.ExportedProgram:
    """For any number of points."""
    return torch.export.export(graph, (x,), dynamic_shapes=({0: torch.export.Dim("n")},), strict=False)


def _keep_digits(flat: torch.fx.GraphModule, dtype: torch.dtype) -> None:
    """Make ready a graph of operations for ONNX in double precision.

    The exporter writes Python's numbers in single precision, tensors as they are; and onnxruntime has no error function (of gelu)
    of doubles.
    """
    aten, constants = torch.ops.aten, 0
    for node in list(flat.graph.nodes):
        if node.target is aten.erf.default and dtype == torch.float64:
            with flat.graph.inserting_before(node):
                single = flat.graph.call_function(aten._to_copy.default, node.args, {"dtype": torch.float32})
                found = flat.graph.call_function(aten.erf.default, (single,))
                double = flat.graph.call_function(aten._to_copy.default, (found,), {"dtype": dtype})
            node.replace_all_uses_with(double)
            flat.graph.erase_node(node)
        elif node.target in _OF_TENSORS and isinstance(node.args[1], float):
            name, constants = f"constant{constants}", constants + 1
            flat.register_buffer(name, torch.tensor(node.args[1], dtype=dtype))
            with flat.graph.inserting_before(node):
                node.args = (node.args[0], flat.graph.get_attr(name), *node.args[2:])
            node.target = _OF_TENSORS[node.target]
    flat.recompile()


_OF_TENSORS = {  # operations with a number, and the same with a tensor
    target: getattr(torch.ops.aten, name).Tensor
    for name in ("mul", "add", "sub", "div")
    for target in (getattr(torch.ops.aten, name).Tensor, getattr(torch.ops.aten, name).Scalar)
}


@contextlib.contextmanager
def _told_plainly(network: nn.Module, path: Path) -> Iterator[None]:
    """What torch says of operations that it cannot record, in one line."""
    try:
        yield
    except PcpinnError:
        raise
    except Exception as error:  # torch raises many kinds, most of them its own
        lines: Sequence[str] = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = next((line for line in lines if "No ONNX function" in line), lines[0] if lines else type(error).__name__)
        raise PcpinnError(
            f"{path.suffix} cannot hold {type(network).__name__}: {said[:300]}",
            "use a network of pcpinn's own, or operations that torch.export can record",
        ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch's exporters tell their developers."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
