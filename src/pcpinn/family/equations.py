"""What the equations of a batch of samples have in common, whatever discretises them: constraints are rows of F."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, cached_property
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..discretize.batches import on_device
from ..discretize.constraints import NodesOn, prescribed_values
from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.discretisation import check_functions
from ..discretize.equation import Nodes
from ..discretize.finite_elements import FiniteElements
from ..discretize.slabs import TimeSlabs
from ..errors import PcpinnError
from .family import Family

CHUNK_ENTRIES = 16_000_000  # numbers in the largest temporary

_TINY = 1e-14

D = TypeVar("D", FiniteElements, TimeSlabs)


class SampledEquations(ABC, Generic[D]):
    """F(u, mu) = 0 for values u (S, N) and parameters mu (S, K): the weak form in free rows, u_i - g_i(mu) in constrained ones.

    Args:
        family: of problems.
        form: a discretisation of `family.extended`.
        device: where to compute.

    Attributes:
        equation: nodes, weights and constraints, which all samples share but for prescribed values.
        functions_on_host: the problem's functions hold tensors of the CPU, and are called there.
        one_matrix: dF/du of a linear family is known to be the same for all parameters, and b to be affine in scaled ones.
    """

    one_matrix = False

    def __init__(self, family: Family, form: D, device: torch.device) -> None:
        self.family, self.device = family, device
        self.form: D = form
        self.equation = DiscreteEquation(form)
        constraints = self.equation.constraints
        self.constrained, self.master, self._source = (
            torch.from_numpy(a).to(device) for a in (constraints.constrained, constraints.master, constraints.source)
        )
        slaves = constraints.master >= 0
        self.slaves = torch.from_numpy(constraints.constrained[slaves]).to(device)
        self.masters = torch.from_numpy(constraints.master[slaves]).to(device)
        plain = form.with_coefficients(None)  # type: ignore[arg-type]
        places = np.arange(form.space.size)
        self.parts = [(integrand, on_device(batch, device, places)) for integrand, batch in plain.parts()]
        self._places = torch.from_numpy(form.unknown_nodes).to(device)
        self.functions_on_host = False
        self.functions_on_host = device.type != "cpu" and not self._run_on_device()

    @property
    def size(self) -> int:
        """Degrees of freedom N."""
        return self.form.size

    @property
    def nodes(self) -> Nodes:
        """Where they sit."""
        return self.equation.nodes

    @cached_property
    def linear(self) -> bool:
        """Whether F is affine in u, at the middle and at the ends of all ranges."""
        ends = (self.family.middle, self.family.lower, self.family.upper)
        return all(check_functions(self.discretisation(mu)) for mu in ends)

    def discretisation(self, mu: Tensor) -> D:
        """The discretisation at parameters (K,)."""
        return self.form.with_coefficients(mu.cpu().expand(self.form.space.scalar[0].size, -1).clone())

    @cached_property
    def weights(self) -> Tensor:
        """(N,) of a discrete L2 norm."""
        return torch.from_numpy(np.array(self.equation.weights)).to(self.device)

    def norm(self, u: Tensor) -> Tensor:
        """(S,) discrete L2 norms of u (S, N)."""
        return torch.sqrt((u**2 @ self.weights).clamp(min=0))

    @cached_property
    def field_of(self) -> Tensor:
        """(N,) which field each degree of freedom is of."""
        fields = self.form.problem.unknowns
        of_component = np.repeat(np.arange(len(fields)), [f.components for f in fields])
        return torch.from_numpy(of_component[np.asarray(self.form.unknown_components)]).to(self.device)

    def sizes(self, u: Tensor) -> Tensor:
        """(S, F) discrete L2 norms of each field of u (S, N)."""
        result = u.new_zeros(len(u), len(self.form.problem.unknowns))
        return result.index_add(1, self.field_of, u**2 * self.weights).clamp(min=0).sqrt()

    def relative(self, e: Tensor, u: Tensor) -> Tensor:
        """(S,) size of e relative to u, both (S, N): the largest over the fields, auxiliary ones left out."""
        size = self.sizes(u)
        unit = torch.maximum(size, _TINY * size.amax(1, keepdim=True))
        ratio = self.sizes(e) / torch.where(unit > 0, unit, 1.0)
        counts = [k for k, f in enumerate(self.form.problem.unknowns) if not f.auxiliary]
        return ratio[:, counts or slice(None)].amax(1)

    @cached_property
    def _nodes_on(self) -> NodesOn:
        """Looked up once for all queries: the same boundaries are asked for in each."""
        return cache(self.form.nodes_on)

    def satisfied(self, u: Tensor, mu: Tensor) -> Tensor:
        """u (S, N) with its constrained values corrected."""
        points = torch.cat([mu[:, None, :].expand(-1, self.size, -1), self._places.expand(len(mu), -1, -1)], dim=2)
        points = points.cpu() if self.functions_on_host else points
        value = prescribed_values(self.form.problem, self.form, self._nodes_on, points)
        value = value.to(self.device)[:, self._source]
        v = u.clone()
        v[:, self.constrained] = torch.where(self.master >= 0, u[:, self.master], torch.nan_to_num(value))
        return v

    def residual(self, u: Tensor, mu: Tensor) -> Tensor:
        """F (S, N)."""
        mu = mu.to(self.device)
        v = self.satisfied(u, mu)
        return self.as_rows(self.weak(v, mu), u - v)

    def right_side(self, mu: Tensor) -> Tensor:
        """b (S, N) of the linear part: -F(0)."""
        return -self.residual(torch.zeros(len(mu), self.size, dtype=torch.float64, device=self.device), mu)

    def as_rows(self, R: Tensor, misses: Tensor) -> Tensor:
        """The weak form (S, N) with rows of periodic partners added up, and misses (S, N) in constrained rows."""
        F = R.index_add(1, self.masters, R[:, self.slaves])
        F[:, self.constrained] = misses[:, self.constrained]
        return F

    def called(self, function: Callable[..., Tensor], *args: Tensor) -> Tensor:
        """A function of the problem at tensors on the device, called where its own tensors are."""
        return function(*(a.cpu() for a in args)).to(self.device) if self.functions_on_host else function(*args)

    def _run_on_device(self) -> bool:
        """Whether the problem's functions work there: constants that they hold may be tensors of the CPU."""
        mu = self.family.middle[None].to(self.device)
        try:
            self.residual(torch.zeros(1, self.size, dtype=torch.float64, device=self.device), mu)
        except PcpinnError:
            return False
        return True

    @abstractmethod
    def weak(self, v: Tensor, mu: Tensor) -> Tensor:
        """The weak form (S, N) of values that satisfy the constraints."""
