"""Networks by name, and the recipe of the usual one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import torch

from ..errors import PcpinnError
from ..recipes import PerAxis, Recipe, Registry, plain
from .dense import Architecture, DenseNetwork
from .features import Features, unread_features
from .parametric import ParametricNetwork
from .stretched import Knots


@dataclass(frozen=True)
class Place:
    """What a network is told of where it is going to live.

    Attributes:
        lower, upper: corners of the box around the domain.
        outputs: number of scalar components.
        kinks, corners, corner_size: known places where the solution is not smooth (see `pcpinn.Meshing`).
        periodic: axes along which every field repeats itself.
        start: the smallest time that counts after a sudden start, relative to the whole; 0 if there is none.
        stretch: maps of the coordinates by which the cells of the mesh are spread evenly (see stretched.py).
    """

    lower: Sequence[float]
    upper: Sequence[float]
    outputs: int
    kinks: PerAxis = ()
    corners: PerAxis = ()
    corner_size: float = 1e-3
    periodic: tuple[int, ...] = ()
    start: float = 0.0
    stretch: tuple[Knots, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {key: plain(value) for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Place:
        """Inverse of `to_dict`."""
        places = {key: tuple(map(tuple, data[key])) for key in ("kinks", "corners")}
        return cls(**{**data, **places, "periodic": tuple(data["periodic"])})


class NetworkRecipe(Recipe):
    """How to make u_theta.

    Attributes of the class:
        unseen: keys of the mesh that tell a network where a solution is not smooth and that this one does not look at, with the
            reason; read by methods for which the mesh is nothing else.
    """

    unseen: ClassVar[Mapping[str, str]] = {}

    def build(self, place: Place, seed: int, dtype: torch.dtype) -> Any:
        """An untrained network."""
        raise NotImplementedError

    def build_family(self, place: Place, parameters: int, seed: int, dtype: torch.dtype) -> Any:
        """An untrained network of a family: on `parameters` scaled numbers and the place.

        Raises:
            PcpinnError: for a kind that has no such form.
        """
        raise PcpinnError(f"network={self.name} cannot be the network of a family", "use mlp or trunk-branch")

    def of_one(self) -> NetworkRecipe:
        """The recipe of what a network of a family is for one set of parameters; by default itself."""
        return self


NETWORKS: Registry[type[NetworkRecipe]] = Registry("network", "networks")


@NETWORKS.register
@dataclass(frozen=True)
class MLP(NetworkRecipe):
    """A multilayer perceptron on scaled inputs and Fourier features of them.

    Attributes:
        width, depth: units per hidden layer, and number of hidden layers; with depth 0 the outputs are linear in the features.
        activation: tanh, silu, gelu or sin; exp for radial units.
        initialisation: of the weights: torch, glorot-normal, glorot-uniform, he-normal, he-uniform; or cells: half of the
            first layer's units sit in cells of the mesh, as steep as these are small; or radial, with activation=exp, depth=1
            and features=none: Gaussian units spread as the cells are; or spread: units of random direction, steep
            anywhere in the box.
        features: none; log (frequencies 2 pi 2^e along each axis), series (1 to feature_count waves per 1.25 lengths of the
            box along each axis, best with depth 0) or gaussian (random directions); list (those in
            `frequencies`); or, best with depth 0, waves on periodic boxes (all plane waves of at most feature_count per period)
            and cosines on boxes without flow through the walls (products of at most feature_count half waves).
        feature_count: number of frequencies (per axis for log and series).
        feature_low, feature_high: exponents e of the lowest and the highest frequency of log.
        feature_std: standard deviation of gaussian frequencies.
        frequencies: for features=list: along each axis, in radians per unit, such as 6.28;6.28;4.44,8.31.
        stretch: coordinates in which the cells of the mesh are spread evenly are inputs, too, where that makes a difference.
        stretch_at: with stretch: places along each axis that these coordinates spread evenly, instead of by the cells.
        interfaces: where slopes of the solution jump: on a line 0.3;0.7 for two places, in a plane 0,0.5,1,0.5;1,0.5,1,1 for two
            pieces of lines by their ends; the distance from the nearest is an input.
        repeat: the network repeats itself exactly along axes that all fields are periodic along; if not, the equations of
            opposite sides see to it, as far as they are trained.
    """

    width: int = 24
    depth: int = 3
    activation: str = "tanh"
    initialisation: str = "glorot-normal"
    features: Literal["none", "log", "series", "gaussian", "list", "waves", "cosines"] = "log"
    feature_count: int = 4
    feature_low: float = -2.0
    feature_high: float = 1.0
    feature_std: float = math.pi
    frequencies: PerAxis | None = None
    stretch: bool = False
    stretch_at: PerAxis | None = None
    interfaces: PerAxis | None = None
    repeat: bool = True

    name: ClassVar[str] = "mlp"
    positive: ClassVar[tuple[str, ...]] = ("width",)
    not_negative: ClassVar[tuple[str, ...]] = ("depth",)

    def __post_init__(self) -> None:
        super().__post_init__()
        Architecture(self.width, self.depth, self.activation, self.initialisation)  # refuses unknown names
        for places in self.stretch_at or ():
            if not self.stretch or len(places) < 2 or any(a > b for a, b in itertools.pairwise(places)):
                raise PcpinnError(
                    "stretch_at needs stretch=true and, along each axis, at least two places in order",
                    "correct them, or leave stretch_at out",
                )

    def unread(self) -> Mapping[str, str]:
        """Keys of other kinds of features; how the weights of hidden layers are drawn, where there are none."""
        none = {"width": "depth=0 has no hidden layer", "activation": "depth=0 has no hidden layer"}
        return {**unread_features(self.features), **({} if self.depth else none)}

    def architecture(self, place: Place) -> Architecture:
        """All but the weights, for a place."""
        features = Features(
            self.features,
            self.feature_count,
            self.feature_low,
            self.feature_high,
            self.feature_std,
            place.kinks,
            self.frequencies or (),
            place.start,
            place.periodic,
            place.corners,
            place.corner_size,
            place.stretch if self.stretch else (),
            self.initialisation == "radial",
            self.interfaces or (),
        )
        return Architecture(self.width, self.depth, self.activation, self.initialisation, features)

    def build(self, place: Place, seed: int, dtype: torch.dtype) -> DenseNetwork:
        """With weights drawn from a seed."""
        generator = torch.Generator().manual_seed(seed)
        return DenseNetwork(
            self.architecture(place), list(place.lower), list(place.upper), place.outputs, generator, dtype
        )

    def build_family(self, place: Place, parameters: int, seed: int, dtype: torch.dtype) -> ParametricNetwork:
        """With weights drawn from a seed; the parameters stand beside the features of the place."""
        generator = torch.Generator().manual_seed(seed)
        lower, upper = list(place.lower), list(place.upper)
        return ParametricNetwork(self.architecture(place), lower, upper, place.outputs, parameters, generator, dtype)
