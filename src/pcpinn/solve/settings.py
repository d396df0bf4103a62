"""All choices of a run: recipes in their slots, from the user, a preset, and the method's defaults."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from ..errors import PcpinnError
from ..mesh.meshing import Differences, Meshing
from ..network.module_recipe import Module
from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from ..recipes import Key, R, Recipe, Registry, as_text, convert
from ..train import TorchOptimiser
from .march.recipe import March
from .method import FAMILY_METHODS, INVERSE_METHODS, METHODS, REGISTRIES, SLOTS, Method, Offer, Options, Refusal
from .recipes import NewtonMethod

BARE = {"iterations": "optimiser"}  # short keys that several recipes may have, and whose they are


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes:
        method: what it is a run of.
        over_time: whether the problem is over time.
        recipes: by slot; slots that the method does not read are not there.
        asked: recipes that were chosen, and keys that differ from their defaults: what later changes start from.
    """

    method: Method
    over_time: bool
    recipes: Mapping[str, Recipe]
    asked: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def mesh(self) -> Meshing | Differences:
        """How the domain is meshed."""
        return self.recipes["mesh"]  # type: ignore[return-value]

    @property
    def time(self) -> Any:
        """How time is treated; None for a stationary problem."""
        return self.recipes.get("time")

    @property
    def preconditioner(self) -> Any:
        """How P is made."""
        return self.recipes["preconditioner"]

    @property
    def network(self) -> Any:
        """What represents u."""
        return self.recipes["network"]

    @property
    def optimiser(self) -> Any:
        """What trains it."""
        return self.recipes["optimiser"]

    @property
    def newton(self) -> NewtonMethod:
        """Newton's method around the training."""
        return self.recipes["newton"]  # type: ignore[return-value]

    @property
    def loss(self) -> Any:
        """What is made small."""
        return self.recipes["loss"]

    @property
    def run(self) -> Options:
        """Seed, device and the like."""
        return self.recipes["run"]  # type: ignore[return-value]

    @property
    def marches(self) -> bool:
        """Whether time is marched through."""
        return isinstance(self.time, March)

    def updated(self, changes: Mapping[str, Any]) -> Settings:
        """A copy with some keys changed; values may be text, as on the command line.

        Raises:
            PcpinnError: for a key that the method does not read, or a value that does not fit.
        """
        return resolve(self.method, self.over_time, changes, self.asked) if changes else self

    def with_recipe(self, slot: str, recipe: Recipe) -> Settings:
        """A copy with another recipe in a slot, as it is."""
        return replace(self, recipes={**self.recipes, slot: recipe})

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        recipes = {slot: recipe.to_dict() for slot, recipe in self.recipes.items()}
        facts = {"method": self.method.name, "inverse": self.method.inverse, "over_time": self.over_time}
        facts |= {"family": True} if self.method.family else {}
        return {**facts, **recipes, "asked": [slot for slot in recipes if slot in self.asked]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Settings:
        """Inverse of `to_dict`.

        Raises:
            PcpinnError: when the data is not such a record.
        """
        try:
            asked = {}
            for slot in SLOTS:
                if slot in data:
                    keys = {k: v for k, v in data[slot].items() if k != "name"}
                    keys = {k: float("inf") if k == "time_limit" and v is None else v for k, v in keys.items()}
                    asked[slot] = _recorded(REGISTRIES[slot], slot, data[slot]["name"])(**keys)
            methods = FAMILY_METHODS if data.get("family") else INVERSE_METHODS if data["inverse"] else METHODS
            found = resolve(_recorded(methods, "method", data["method"]), bool(data["over_time"]), asked)
            chosen = set(data.get("asked", SLOTS))  # the others were the method's own, and are called so again
            return replace(found, asked={k: v for k, v in found.asked.items() if k not in SLOTS or k in chosen})
        except (KeyError, TypeError, AttributeError) as error:
            raise PcpinnError(
                f"these are not settings of this version: {error}", "start the run again with the present version"
            ) from error

    def flat(self) -> dict[str, Any]:
        """All keys with their values: the names of recipes by slot, and "slot.key"."""
        result: dict[str, Any] = {}
        for slot, recipe in self.recipes.items():
            result[slot] = recipe.name
            result |= {f"{slot}.{key}": getattr(recipe, key) for key in recipe.schema()}
        return result

    def differences(self, other: Settings) -> dict[str, str]:
        """What must be set to come here from other settings, as text; short keys where they say enough."""
        mine, theirs = self.flat(), other.flat()
        changed = {k: v for k, v in mine.items() if k not in theirs or theirs[k] != v}
        fresh = {slot for slot, r in self.recipes.items() if slot not in theirs or theirs[slot] != r.name}
        result = {}
        for key, value in changed.items():
            slot, _, name = key.partition(".")
            if name and slot in fresh and self.recipes[slot].schema()[name].default == value:
                continue
            if name == "" and slot in ("run", "newton", "loss"):
                continue
            result[self.short(slot, name) if name else slot] = as_text(value)
        return result

    def short(self, slot: str, name: str) -> str:
        """The shortest key for a field of a recipe."""
        owners = [s for s, r in self.recipes.items() if name in r.schema()]
        return name if BARE.get(name, slot) == slot and (len(owners) == 1 or name in BARE) else f"{slot}.{name}"


def problem_is_over_time(problem: Problem) -> bool:
    """Whether the last coordinate of a problem's domain is time."""
    return isinstance(problem.domain, SpaceTime) or bool(getattr(problem.domain, "has_time", False))


def _recorded(registry: Registry[R], slot: str, name: str) -> R:
    """What a record names; it may be of a plug-in that is not here."""
    found = registry.get(name)
    if found is None:
        raise PcpinnError(
            f"the run was made with {slot}={name}, which is not known here",
            "import the file, or install the package, that registers it",
        )
    return found


def resolve(
    method: Method,
    over_time: bool,
    given: Mapping[str, Any],
    preset: Mapping[str, Any] | None = None,
    checked: bool = False,
) -> Settings:
    """The settings of a method.

    Keys are slots ("preconditioner": a name or a recipe), fields of recipes ("drop_tolerance", or "preconditioner.drop_tolerance"
    where a short key could be of several). What `given` says must be read by the method; what the preset says and the method does
    not read is dropped. Keys that other keys leave without effect are refused, unless `checked`: what a user gave was looked at
    before, and it is the program's own choices beside it that leave it without effect.

    Raises:
        PcpinnError: for anything given that does not fit, with the reason.
    """
    preset = preset or {}
    for key in (*given, *preset):
        if not isinstance(key, str):
            raise PcpinnError(f"{key!r} is not the name of a setting", "write settings = {'size': 0.05}, for instance")
    chosen: dict[str, Recipe] = {}
    offers: dict[str, Offer | Refusal] = {}
    owners: dict[str, list[str]] = {}
    asked: dict[str, Any] = {}
    named: dict[str, None] = {}
    for slot in SLOTS:
        offer = offers[slot] = method.offer(slot, chosen, over_time)
        if isinstance(offer, Refusal):
            continue
        base, source = _chosen(slot, offer, given, preset)
        changes: dict[str, Any] = {}
        whole = source is given and not isinstance(given[slot], str)  # then the preset has nothing to add
        for key, value in () if whole else preset.items():
            name = _name_in(key, slot, base)
            if name is not None and name not in offer.without and _fits(name, value, base):
                changes[name] = value
        for key, value in given.items():
            name = _name_in(key, slot, base)
            if name is None:
                continue
            if name in offer.without:
                raise PcpinnError(f"{key} has no effect here: {offer.without[name]}", f"leave {key} out")
            owners.setdefault(key, []).append(slot)
            changes[name] = value
            named[f"{slot}.{name}"] = None
        chosen[slot] = recipe = base.changed(changes) if changes else base
        if not checked:
            _refuse_unread(slot, recipe, given)
        if source is not None:
            asked[slot] = recipe.name if recipe.in_text else recipe
        usual = {k: key.default for k, key in recipe.schema().items()}
        if type(offer.default) is type(recipe):
            usual = {k: getattr(offer.default, k) for k in usual}
        for k, default in usual.items():
            if (v := getattr(recipe, k)) != default or f"{slot}.{k}" in named:
                asked[f"{slot}.{k}"] = v
    for slot in SLOTS:
        offer = offers[slot]
        if isinstance(offer, Refusal) and given.get(slot) is not None:
            raise PcpinnError(f"{method.name} does not read {slot}: {offer.why}", f"leave {slot} out")
    for key in (k for k in given if k not in SLOTS):
        found = owners.get(key, [])
        if not found:
            raise _not_read(key, method, chosen)
        if len(found) > 1:
            options = ", ".join(f"{slot}.{key}" for slot in found)
            raise PcpinnError(f"{key} could be of {' or '.join(found)}", f"say which: {options}")
    return Settings(method, over_time, chosen, asked)


def resolve_preset(
    method: Method, home: Method, over_time: bool, preset: Mapping[str, Any], name: str, given: Mapping[str, Any]
) -> Settings:
    """The settings of a preset that was made for the method `home`, for any method.

    Another method takes over how the domain, time and the network are treated, and the optimiser if the preset names one; it has
    defaults of its own for the rest. The network of a march is not taken over: it is made for one step, without time.

    Raises:
        PcpinnError: for anything given that does not fit.
    """
    if method is not home:
        of_home = resolve(home, over_time, {}, preset)
        asked = of_home.asked
        shared = ("mesh", "time", "run", *(("optimiser",) if "optimiser" in asked else ()))
        shared += () if of_home.marches else ("network",)
        preset = {k: v for k, v in asked.items() if k.partition(".")[0] in shared} | dict(method.presets.get(name, {}))
    return resolve(method, over_time, given, preset)


def _chosen(
    slot: str, offer: Offer, given: Mapping[str, Any], preset: Mapping[str, Any]
) -> tuple[Recipe, Mapping[str, Any] | None]:
    """The recipe of a slot before single keys change it, and who chose it; None if nobody did."""
    for source in (given, preset):
        wanted = source.get(slot)
        if isinstance(wanted, str) and wanted == "auto":
            break
        if wanted is None:
            continue
        recipe = _as_recipe(slot, offer, wanted)
        if offer.allowed is None or isinstance(recipe, offer.allowed):
            return recipe, source
        if source is given:
            names = ", ".join(c.name for c in offer.allowed)
            raise PcpinnError(f"{slot}={recipe.name} cannot be used here: {offer.why}", f"use {names}")
    keys = {key.rpartition(".")[2] for key in (*given, *preset) if key.rpartition(".")[0] in ("", slot)}
    return offer.default.meant_by(keys), None


def _fits(name: str, value: Any, recipe: Recipe) -> bool:
    """Whether a value that was meant for another recipe of the slot means something here."""
    try:
        convert(name, value, recipe.schema()[name].type)
    except PcpinnError:
        return False
    return True


def _as_recipe(slot: str, offer: Offer, wanted: Any) -> Recipe:
    """A recipe as it is, that of a name, or one around a module or a class of optimisers of torch."""
    if isinstance(wanted, Recipe):
        return wanted
    if slot == "network" and isinstance(wanted, nn.Module):
        return Module(wanted)
    if slot == "optimiser" and isinstance(wanted, type) and issubclass(wanted, torch.optim.Optimizer):
        return TorchOptimiser(wanted)
    found = REGISTRIES[slot].find(wanted)
    recipe: Recipe = offer.default if type(offer.default) is found else found()
    if not recipe.in_text:
        raise PcpinnError(
            f"{slot}={wanted} cannot be chosen by its name",
            f"give the object itself, in Python: pcpinn.solve(problem, {slot}=...)",
        )
    return recipe


def _refuse_unread(slot: str, recipe: Recipe, given: Mapping[str, Any]) -> None:
    """Refuse keys that are given and that other keys of the recipe leave without effect."""
    unread = recipe.unread()
    for key in given:
        name = _name_in(key, slot, recipe)
        if name is not None and name in unread:
            raise PcpinnError(f"{key} has no effect here: {unread[name]}", f"leave {key} out")


def _name_in(key: str, slot: str, recipe: Recipe) -> str | None:
    """The field of a recipe that a key means, or None."""
    prefix, _, name = key.rpartition(".")
    if key in SLOTS or name not in recipe.schema():
        return None
    if prefix:
        return name if prefix == slot else None
    return name if BARE.get(name, slot) == slot else None


def _not_read(key: str, method: Method, chosen: Mapping[str, Recipe]) -> PcpinnError:
    """Why a key is not read, and what would help."""
    prefix, _, name = key.rpartition(".")
    homes = [(s, c) for s, c in recipes_with(name) if not prefix or s == prefix]
    if homes:
        slot = homes[0][0]
        names = ", ".join(sorted({c.name for _, c in homes}))
        here = f"{slot}={chosen[slot].name}" if slot in chosen else f"method={method.name}"
        return PcpinnError(
            f"{key} is not read with {here}: it belongs to {slot}={names}",
            f"leave {key} out" + (f", or choose {slot}={homes[0][1].name}" if slot in chosen else ""),
        )
    known = [*SLOTS[:5], *dict.fromkeys(k for r in chosen.values() for k in r.schema())]
    close = difflib.get_close_matches(name, known, n=1)
    return PcpinnError(
        f"there is no setting {key!r}", f"did you mean {close[0]!r}?" if close else "pcpinn settings lists them all"
    )


def recipes_with(name: str) -> list[tuple[str, type[Recipe]]]:
    """(slot, recipe) of all recipes that have a key."""
    return [(slot, cls) for slot, registry in REGISTRIES.items() for cls in registry if name in cls.schema()]


def canonical_value(key: str, value: Any) -> str:
    """The one way to write a setting's value (1e-3 and 0.001 are the same), whichever recipes are chosen.

    Raises:
        PcpinnError: for an unknown key or a value that does not fit.
    """
    if key in REGISTRIES:
        return str(value) if value == "auto" else REGISTRIES[key].find(str(value)).name
    prefix, _, name = key.rpartition(".")
    homes = [cls for slot, cls in recipes_with(name) if not prefix or slot == prefix]
    if not homes:
        close = difflib.get_close_matches(name, [k for r in REGISTRIES.values() for c in r for k in c.schema()], n=1)
        raise PcpinnError(
            f"there is no setting {key!r}", f"did you mean {close[0]!r}?" if close else "pcpinn settings lists them all"
        )
    errors: list[PcpinnError] = []
    for cls in homes:
        found: Key = cls.schema()[name]
        try:
            return as_text(convert(key, value, found.type))
        except PcpinnError as error:
            errors.append(error)
    raise errors[0]
