"""Recipes of networks that are modules: one to derive from, and one around a module that a user has made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import nn

from ..errors import PcpinnError
from .module import ModuleNetwork
from .module_checks import class_name
from .recipe import NETWORKS, NetworkRecipe, Place


@dataclass(frozen=True)
class ModuleRecipe(NetworkRecipe):
    """How to make u_theta of a torch.nn.Module: derive from it, say `module`, and register it."""

    def module(self, place: Place) -> nn.Module:
        """A module (n, d) -> (n, place.outputs) of points scaled to [-1, 1]; torch's generator has been seeded."""
        raise NotImplementedError

    def build(self, place: Place, seed: int, dtype: torch.dtype) -> ModuleNetwork:
        """The module as a network that every optimiser can train."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.module(place)
        made_by = {"recipe": self.to_dict(), "place": place.to_dict()} if self.in_text else None
        return ModuleNetwork(module, place.lower, place.upper, place.outputs, dtype, made_by)


def module_again(made_by: Mapping[str, Any]) -> nn.Module:
    """The module that a recorded recipe makes; its weights are others.

    Raises:
        PcpinnError: when the recipe is of a plug-in that is not here.
        LookupError, TypeError: when the data are not such a record.
    """
    keys = dict(made_by["recipe"])
    name = keys.pop("name")
    recipe = NETWORKS.get(name)
    if recipe is None or not issubclass(recipe, ModuleRecipe):
        raise PcpinnError(
            f"the network was made by network={name}, which is not known here",
            "import the file, or install the package, that registers it",
        )
    return recipe(**keys).module(Place.from_dict(made_by["place"]))


@NETWORKS.register
@dataclass(frozen=True)
class Module(ModuleRecipe):
    """A torch.nn.Module of your own, from Python: pcpinn.solve(problem, network=MyModule()); not on the command line."""

    given: nn.Module | None = field(default=None, metadata={"hidden": True})
    class_name: str = field(default="", metadata={"hidden": True})  # all that a record knows of it

    name: ClassVar[str] = "module"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.given is not None:
            object.__setattr__(self, "class_name", class_name(self.given))

    def to_dict(self) -> dict[str, Any]:
        """Its name, and that of the class."""
        return {**super().to_dict(), "class_name": self.class_name}

    @property
    def in_text(self) -> bool:
        """No text stands for a module."""
        return False

    def module(self, place: Place) -> nn.Module:
        """The one that was given.

        Raises:
            PcpinnError: when the recipe comes from a record.
        """
        if self.given is None:
            raise PcpinnError(
                f"the code of the network {self.class_name} is not kept on disk",
                f"give a module of that class, in Python: network={self.class_name.rpartition('.')[2]}(...)",
            )
        return self.given
