"""u = sum of c_k(z) phi_k(x), whose coefficients solve a small system that the parameters make: for elliptic families.

Coefficients of an equation enter its answers through the inverse of a matrix, which sums of units can only imitate. Here units of
the parameters multiply matrices, as coefficients do at places, and their sum is inverted: y(z) of A(z) y = f(z), from which the
last layer of the trunk is linear. All of it is weights: nothing of the equation is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from .dense import DenseNetwork
from .recipe import MLP, NETWORKS, Place
from .trunk_branch import TrunkBranchNetwork

Layer = tuple[Tensor, Tensor]


class Reduced(NamedTuple):
    """y(z) = A(z)^-1 (F z + g) + d with A(z) = D D^T + sum over places of a(z) G G^T, a = exp(c + s tanh(W z + b)).

    Attributes:
        seen: W (m, K), b (m,).
        sizes: s (m, 1), c (m,).
        rows: G of all places, then D (r, m k + r); d (r,).
        right: F (r, K), g (r,).
    """

    seen: Layer
    sizes: Layer
    rows: Layer
    right: Layer

    @staticmethod
    def shapes(numbers: int, branch: tuple[int, ...]) -> list[tuple[int, int]]:
        """(out, in) of these layers, for a branch of m places, k rows at each, r coordinates."""
        m, k, r = branch
        return [(m, numbers), (m, 1), (r, m * k + r), (r, numbers)]

    def sizes_of(self) -> dict[str, Any]:
        """Keys of the recipe of such a network."""
        r, m = len(self.rows[0]), len(self.seen[0])
        return {"places": m, "place_rows": (self.rows[0].shape[1] - r) // m, "coordinates": r}

    def system(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """A (..., r, r) and F z + g (..., r) for scaled parameters (..., K)."""
        (s, c), (G, _) = self.sizes, self.rows
        a = torch.exp(c + s[:, 0] * torch.tanh(nn.functional.linear(z, *self.seen)))
        a = a.repeat_interleave((G.shape[1] - len(G)) // a.shape[-1], dim=-1)
        a = nn.functional.pad(a, (0, len(G)), value=1.0)
        return (G * a[..., None, :]) @ G.T, nn.functional.linear(z, *self.right)

    def solution(self, z: Tensor) -> Tensor:
        """y (..., r)."""
        A, f = self.system(z)
        return torch.linalg.solve(A, f[..., None])[..., 0] + self.rows[1]


class TrunkSolveNetwork(TrunkBranchNetwork):
    """Weights theta: hidden layers of the trunk, the layers of `Reduced`, and the layer from coordinates to the trunk's last one.

    Args:
        architecture, lower, upper, outputs, parameters, generator, dtype: as of TrunkBranchNetwork.
        branch: (m, k, r): places, rows of a matrix at each, coordinates.
    """

    def shapes_of_branch(self, outer: int) -> list[tuple[int, int]]:
        """Those of `Reduced`, and of the layer after it."""
        return [*Reduced.shapes(self.numbers, self.branch), (outer, self.branch[2])]

    def head(self, theta: Tensor, z: Tensor, fused: bool = False) -> Tensor:
        """c (..., outputs, width + 1) for scaled parameters (..., K)."""
        *inner, outer = self.layers(theta)[1]
        return nn.functional.linear(Reduced(*inner).solution(z), *outer).unflatten(-1, (self.outputs, -1))

    def jacobian(self, x: Tensor, component: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Raises: PcpinnError, since such a network is trained in coordinates."""
        raise PcpinnError("network=trunk-solve is trained in coordinates", "leave the loss out, or give loss=spanned")


@NETWORKS.register
@dataclass(frozen=True)
class TrunkSolve(MLP):
    """Trunk, and a branch that solves a small system made by units of the parameters, for elliptic families.

    Attributes:
        width, depth: of the trunk; its width is the number of functions phi_k.
        places: groups of cells, with a unit for each; if not given, as many as leave least of answers at first.
        place_rows: rows of the small matrix at each of them; likewise.
        coordinates: size of the small system: the number of functions that the answers have in common.
    """

    places: int | None = None
    place_rows: int | None = None
    coordinates: int | None = None

    name: ClassVar[str] = "trunk-solve"
    positive: ClassVar[tuple[str, ...]] = ("width", "depth", "places", "place_rows", "coordinates")

    def build(self, place: Place, seed: int, dtype: torch.dtype) -> DenseNetwork:
        """Raises: PcpinnError, since a single problem has no parameters for a branch."""
        raise PcpinnError("network=trunk-solve is for families of problems", "use network=mlp")

    def of_one(self) -> MLP:
        """The trunk: a perceptron of the same keys."""
        return MLP(**{key: getattr(self, key) for key in MLP.schema()})

    def build_family(self, place: Place, parameters: int, seed: int, dtype: torch.dtype) -> Any:
        """With weights drawn from a seed."""
        if self.places is None or self.place_rows is None or self.coordinates is None:
            raise PcpinnError(
                "network=trunk-solve without a span has no size", "give loss=spanned, or leave the loss out"
            )
        branch = self.places, self.place_rows, self.coordinates
        box = list(place.lower), list(place.upper)
        generator = torch.Generator().manual_seed(seed)
        return TrunkSolveNetwork(self.architecture(place), *box, place.outputs, parameters, branch, generator, dtype)
