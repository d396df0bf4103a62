"""Any torch.nn.Module as u_theta: its weights as one flat vector, its Jacobian by torch.func.

The module sees points scaled from the problem's box to [-1, 1]^d, whatever the units of the problem are, and its outputs are in
units of `output_scale`. It must be a function of each point alone, with no randomness in it; layers that behave differently in
training (dropout, batch norm) are put into their evaluation mode.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..errors import PcpinnError
from .boxed import BoxedNetwork
from .jets import rescaled
from .module_checks import check_derivatives, check_function, check_weights, class_name, probe_points
from .seconds import Seconds

_CHUNK = 2**25  # bytes of a Jacobian's rows at a time: their gradients need memory beside the result
_SAME = 1e-6  # relative difference of values that rounding explains, on other machines and in float32
_NAMED = 3  # tensors that a message names, at most


class ModuleNetwork(BoxedNetwork):
    """A module (n, d) -> (n, outputs) as a network that every optimiser can train.

    Parameters that require gradients are copied into `theta`, in the order of `named_parameters()`; others are kept as they
    are, and so are buffers. The module that was given is not changed.

    Args:
        module: takes points scaled to [-1, 1], (n, d); may be of any precision, and is converted to `dtype`.
        lower, upper: (d,) the problem's box.
        outputs: number of values at a point.
        dtype: of weights and values.
        made_by: which recipe made the module, and for which place, as plain data; None if no recipe can make it again.

    Raises:
        PcpinnError: when the module has no weights, returns other shapes, or cannot be differentiated point by point.
    """

    def __init__(
        self,
        module: nn.Module,
        lower: Sequence[float],
        upper: Sequence[float],
        outputs: int,
        dtype: torch.dtype = torch.float64,
        made_by: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(lower, upper, outputs, dtype)
        check_weights(module)
        self.made_by = made_by
        # In a tuple, so that its own parameters, which are never used, are not among the network's.
        self._template = (copy.deepcopy(module).eval().to(device="cpu", dtype=dtype),)
        trained = {name: p for name, p in self._template[0].named_parameters() if p.requires_grad}
        self._shapes = {name: p.shape for name, p in trained.items()}
        self.theta = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in trained.values()]))
        self._try_out()

    @property
    def class_name(self) -> str:
        """Of the module, qualified."""
        return class_name(self._template[0])

    def bare(self, theta: Tensor, x: Tensor) -> Tensor:
        """The same without the ansatz."""
        scaled = self.scaled(x)
        values = self.at_scaled(theta, scaled.reshape(-1, self.inputs))
        return values.reshape(*x.shape[:-1], self.outputs)

    def at_scaled(self, theta: Tensor, scaled: Tensor) -> Tensor:
        """(n, outputs) at scaled points (n, d), without the ansatz."""
        values: Tensor = functional_call(self._template[0], self.parts(theta), (scaled,))
        return values * self.output_scale

    def jets(self, points: Tensor, seconds: Seconds) -> Callable[[Tensor], Tensor] | None:
        """theta -> jet (1 + d + s, n, outputs) at points (n, d) that stay where they are; None if the module has no `jets`."""
        if not hasattr(self._template[0], "jets"):
            return None
        in_box = seconds.in_units(self.half_width)
        own: Callable[[dict[str, Tensor]], Tensor] = self._template[0].jets(self.scaled(points), in_box)  # type: ignore[operator]
        return lambda theta: rescaled(own(self.parts(theta)), self.half_width, seconds) * self.output_scale

    @torch.no_grad()
    def jacobian(self, x: Tensor, component: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """d u_component(x) / d theta for points (n, d), one output each (n,): (n, p) of `dtype`. An ansatz is not in it."""
        scaled = self.scaled(x)
        select = nn.functional.one_hot(component, self.outputs).to(scaled.dtype) * self.output_scale

        def value(parts: dict[str, Tensor], point: Tensor, chosen: Tensor) -> Tensor:
            return functional_call(self._template[0], parts, (point[None],))[0] @ chosen

        gradients = torch.func.vmap(torch.func.grad(value), in_dims=(None, 0, 0))
        parts = self.parts(self.theta.detach())
        result = torch.empty(len(x), self.parameter_count, dtype=dtype or x.dtype, device=x.device)
        rows = max(1, _CHUNK // (self.parameter_count * scaled.element_size()))
        for k in range(0, len(x), rows):
            at = 0
            for block in gradients(parts, scaled[k : k + rows], select[k : k + rows]).values():
                columns = block.flatten(1)
                result[k : k + rows, at : at + columns.shape[1]] = columns
                at += columns.shape[1]
        return result

    def place(self, points: Tensor) -> PlacedModule:
        """The network at points (n, d) that stay where they are."""
        return PlacedModule(self, points)

    @torch.no_grad()
    def copy_from(self, other: object) -> bool:
        """Take all tensors of another network around the same kind of module, on the same box; False if it is not one."""
        if not isinstance(other, ModuleNetwork) or other.class_name != self.class_name or other.outputs != self.outputs:
            return False
        mine, its = self.to_tensors(), other.to_tensors()
        if {k: v.shape for k, v in mine.items()} != {k: v.shape for k, v in its.items()}:
            return False
        if not all(torch.equal(mine[k].cpu(), its[k].cpu()) for k in ("centre", "half_width")):
            return False
        self._take(its)
        return True

    def to_tensors(self) -> dict[str, Tensor]:
        """All but the code: weights and buffers by the module's own names, the box and the unit of the outputs."""
        kept = dict(self._fixed()) | self.parts(self.theta.detach())
        named = {f"module.{name}": tensor.detach() for name, tensor in kept.items()}
        return named | {"centre": self.centre, "half_width": self.half_width, "output_scale": self.output_scale}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], module: nn.Module, outputs: int, made_by: Mapping[str, Any] | None = None
    ) -> ModuleNetwork:
        """Inverse of `to_tensors`, given a module of the same structure, whose own weights do not matter.

        Raises:
            PcpinnError: when the module has other tensors.
            KeyError: when the tensors are not those of such a network.
        """
        d = len(tensors["centre"])
        network = cls(module, [-1.0] * d, [1.0] * d, outputs, tensors["centre"].dtype, made_by)
        expected = {k: tuple(v.shape) for k, v in network.to_tensors().items()}
        stored = {k: tuple(v.shape) for k, v in tensors.items()}
        wrong = [name for name in {**expected, **stored} if stored.get(name) != expected.get(name)]
        if wrong:
            listed = [
                f"{name.removeprefix('module.')}: {stored.get(name, 'absent')} in the file, "
                f"{expected.get(name, 'absent')} in the module"
                for name in wrong[:_NAMED]
            ]
            more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
            raise PcpinnError(
                f"the module {network.class_name} does not fit the stored weights ({'; '.join(listed)}{more})",
                "make it with the arguments that it had when it was trained",
            )
        network._take(tensors)
        return network

    @torch.no_grad()
    def probe(self) -> Tensor:
        """(k, outputs) values at a few points of the box: they tell modules of equal shapes but other formulas apart."""
        return self.bare(self.theta, self.centre + self.half_width * probe_points(self.inputs).to(self.centre))

    def agrees(self, values: Tensor) -> bool:
        """Whether `probe` gives these values."""
        here = self.probe().cpu()
        return values.shape == here.shape and bool((here - values).abs().max() <= _SAME * (values.abs().max() + 1e-300))

    @torch.no_grad()
    def _take(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy the tensors of `to_tensors`, which fit."""
        for part, name in zip(self.parts(self.theta).values(), self._shapes, strict=True):
            part.copy_(tensors[f"module.{name}"])
        for name, own in self._fixed():
            own.copy_(tensors[f"module.{name}"])
        for name in ("centre", "half_width", "output_scale"):
            getattr(self, name).copy_(tensors[name])

    def _fixed(self) -> list[tuple[str, Tensor]]:
        """Names and tensors of the module that are not trained."""
        parameters = [(name, p) for name, p in self._template[0].named_parameters() if name not in self._shapes]
        return parameters + list(self._template[0].named_buffers())

    def parts(self, theta: Tensor) -> dict[str, Tensor]:
        """Views of theta (p,) by the names of the module's parameters."""
        pieces = theta.split([shape.numel() for shape in self._shapes.values()])
        return {name: piece.view(shape) for piece, (name, shape) in zip(pieces, self._shapes.items(), strict=True)}

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Moves and conversions reach the module's fixed tensors, too."""
        self._template[0]._apply(fn, recurse)
        return super()._apply(fn, recurse)

    def _try_out(self) -> None:
        """What fails, fails here, with a message that says why."""
        x = probe_points(self.inputs).to(self.centre)
        check_function(self._template[0], x, self.outputs)
        check_derivatives(self._template[0], lambda: self.jacobian(x, torch.arange(len(x)) % self.outputs))


class PlacedModule:
    """A module at fixed points (n, d), scaled once."""

    def __init__(self, network: ModuleNetwork, points: Tensor) -> None:
        self._network, self._scaled = network, network.scaled(points)

    def evaluate(self, theta: Tensor, fused: bool = False) -> Tensor:
        """(n, outputs) for any weights (p,)."""
        return self._network.at_scaled(theta, self._scaled)

    @torch.no_grad()
    def values(self) -> Tensor:
        """(n, outputs) for the network's present weights."""
        return self.evaluate(self._network.theta)

    @torch.no_grad()
    def bend(self, theta: Tensor, v: Tensor) -> Tensor:
        """d^2/dt^2 of the values at theta + t v, t = 0: (n, outputs), by central differences.

        Not in forward mode twice: in torch, silu has no such derivative and layer_norm a wrong one. The relative error is of the
        order of sqrt(eps), far below what a step along a bent path can make use of.
        """
        length = v.norm()
        if not length > 0:
            return torch.zeros_like(self.evaluate(theta))
        step = torch.finfo(theta.dtype).eps ** 0.25 * (theta.norm() + 1e-3) / length
        ahead, here, behind = (self.evaluate(theta + t * v) for t in (step, 0.0, -step))
        return (ahead - 2 * here + behind) / step**2
