"""Recipes: every choice of a run is a small frozen dataclass beside the code that it configures.

A recipe sits in a slot (an argument of `pcpinn.solve` such as `preconditioner`) under a name ("ilu"). From its fields follow
the keys of `--set`, their types and limits, and the tables of `pcpinn settings`; its docstring documents them.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import math
import operator
import pkgutil
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np

from .errors import PcpinnError

PerAxis = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Key:
    """One setting: its name, type, default and meaning."""

    name: str
    type: Any
    default: Any
    meaning: str


@dataclass(frozen=True)
class Recipe:
    """Base of all recipes. Fields with `metadata={"hidden": True}` are filled in by the program and are no settings.

    Attributes of the class:
        name: how the command line, presets and records call it.
        positive, not_negative: fields that must be so, where they are numbers.
        at_most: largest values that make sense, by field; beyond, a slip would take all memory or time.

    Some recipes hold a Python object of the user's, in a hidden field, that no text can stand for (`in_text` is False).
    """

    name: ClassVar[str] = ""
    positive: ClassVar[tuple[str, ...]] = ()
    not_negative: ClassVar[tuple[str, ...]] = ()
    at_most: ClassVar[Mapping[str, float]] = {}

    def __post_init__(self) -> None:
        for key in self.schema().values():
            object.__setattr__(self, key.name, convert(key.name, getattr(self, key.name), key.type))
        for name in (*self.positive, *self.not_negative):
            value = getattr(self, name)
            if value is None or isinstance(value, str):
                continue
            fits = value > 0 if name in self.positive else value >= 0
            if not (fits and value < math.inf):
                least = "positive" if name in self.positive else "0 or more"
                raise PcpinnError(
                    f"{name}={as_text(value)} must be {least} and finite", f"leave {name} out to take its default"
                )
        for name, largest in self.at_most.items():
            value = getattr(self, name)
            if value is not None and value > largest:
                raise PcpinnError(f"{name}={as_text(value)} is too much", f"give {largest:g} at most")

    @classmethod
    def schema(cls) -> dict[str, Key]:
        """Its settings by name."""
        if "_schema" not in cls.__dict__:
            meanings, hints = _meanings(cls), typing.get_type_hints(cls)
            cls._schema = {  # type: ignore[attr-defined]
                f.name: Key(f.name, hints[f.name], _default(f), meanings.get(f.name, ""))
                for f in dataclasses.fields(cls)
                if f.init and not f.metadata.get("hidden")
            }
        return cls._schema  # type: ignore[attr-defined]

    @property
    def in_text(self) -> bool:
        """Whether name and keys say all of it, so that it can be made from them again."""
        return True

    @property
    def label(self) -> str:
        """How reports refer to it."""
        return self.name

    def meant_by(self, keys: Collection[str]) -> Recipe:
        """The recipe to take in the place of this default one, when keys that it does not have are given; here itself."""
        return self

    def unread(self) -> Mapping[str, str]:
        """Keys that its other keys leave without effect, with the reason: refused where a user gives them; here none."""
        return {}

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some keys changed; values may be text, as on the command line."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: its name and its keys."""
        return {"name": self.name, **{key: plain(getattr(self, key)) for key in self.schema()}}

    @classmethod
    def summary(cls) -> str:
        """First sentence of its documentation."""
        return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")


R = TypeVar("R")


class Registry(Generic[R]):
    """Things by name, each registered by the file that defines it.

    Args:
        what: in words, for messages.
        group: entry points of other packages, "pcpinn.<group>", loaded when the registry is first asked.
        order: what lists are sorted by; by default things stand in the order of their registration.
    """

    def __init__(self, what: str, group: str, order: Callable[[R], Any] | None = None) -> None:
        self.what, self.group = what, f"pcpinn.{group}"
        self._order = order
        self._found: dict[str, R] = {}
        self._loaded = False

    def register(self, thing: R) -> R:
        """Add something that has a `name`; usable as a decorator. A later registration replaces an earlier one."""
        self.add(thing.name, thing)  # type: ignore[attr-defined]
        return thing

    def add(self, name: str, thing: R) -> None:
        """Add something under a name."""
        self._found[name] = thing

    def discard(self, name: str) -> None:
        """Take something out again."""
        self._found.pop(name, None)

    def find(self, name: object) -> R:
        """What is registered under a name.

        Raises:
            PcpinnError: for an unknown one; near misses are suggested.
        """
        found = self.get(name)
        if found is not None:
            return found
        close = difflib.get_close_matches(str(name), self._found, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(self.names())}"
        raise PcpinnError(f"there is no {self.what} {name!r}", remedy)

    def get(self, name: object) -> R | None:
        """What is registered under a name, or None."""
        self._load()
        return self._found.get(name) if isinstance(name, str) else None

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True  # a plug-in may ask the registry that it is loaded for
        for point in entry_points(group=self.group):
            try:
                point.load()  # registers itself
            except Exception as error:
                self._loaded = False
                raise PcpinnError(
                    f"the plug-in {point.value} cannot be loaded: {type(error).__name__}: {error}",
                    "update or uninstall the package that provides it",
                ) from error

    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        self._load()
        order = self._order
        return tuple(self._found if order is None else sorted(self._found, key=lambda n: order(self._found[n])))

    def __iter__(self) -> Iterator[R]:
        return iter([self._found[name] for name in self.names()])

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None

    def __len__(self) -> int:
        return len(self.names())


def import_all(package: str) -> None:
    """Import the modules of a package, for what they register: a new file there needs no mention elsewhere."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not module.ispkg:
            importlib.import_module(f"{package}.{module.name}")


def convert(key: str, value: Any, expected: Any) -> Any:
    """Turn text or a near miss into the expected type, or refuse it."""
    is_union = typing.get_origin(expected) in (types.UnionType, typing.Union)
    options = typing.get_args(expected) if is_union else (expected,)
    if type(None) in options and (value is None or (isinstance(value, str) and value == "none")):
        return None
    kind = next(o for o in options if o is not type(None))
    words = [w for o in options if is_union and typing.get_origin(o) is Literal for w in typing.get_args(o)]
    if isinstance(value, str) and value in words:
        return value
    try:
        if typing.get_origin(kind) is Literal:
            choice = str(value).lower() if isinstance(value, bool) else str(value)
            if choice not in typing.get_args(kind):
                raise ValueError
            return choice
        if kind == PerAxis:
            return _per_axis(value)
        if typing.get_origin(kind) is tuple and typing.get_args(kind)[0] is float:
            sizes = tuple(float(v) for v in (value.split(",") if isinstance(value, str) else value))
            if not sizes or not all(0 < v < math.inf for v in sizes):
                raise ValueError
            return sizes
        if typing.get_origin(kind) is tuple:
            parts = value.replace("x", ",").split(",") if isinstance(value, str) else value
            result = tuple(_whole(v) for v in ([parts] if np.isscalar(parts) else parts))
            if not result or min(result) < 1:
                raise ValueError
            return result
        if kind is bool:
            return {"true": True, "false": False}[str(value).lower()]
        if kind is int:
            return _whole(value)
        if kind is float:
            number = float(value)
            if math.isnan(number) or isinstance(value, bool):
                raise ValueError
            return number
        if kind is str and not isinstance(value, str):
            raise ValueError
        return value
    except (ValueError, TypeError, KeyError, OverflowError):
        wanted = (
            " or ".join(typing.get_args(kind))
            if typing.get_origin(kind) is Literal
            else _NAMES.get(kind, "whole numbers, such as 40,40")
            if kind != tuple[float, ...]
            else "positive numbers, such as 1e-6,2e8"
        )
        raise PcpinnError(f"{key}={value!r} does not fit", f"give {' or '.join([wanted, *words])}") from None


_NAMES = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a name",
    PerAxis: "numbers along each axis, such as -2,2;0",
}


def _per_axis(value: Any) -> PerAxis | None:
    """Lists of numbers from text ("-2,2;0"), tuples or lists; None if there are none."""
    axes = [a.split(",") if a.strip() else [] for a in value.split(";")] if isinstance(value, str) else value
    if any(isinstance(c, bool) for axis in axes for c in axis):
        raise ValueError
    lists = tuple(tuple(float(c) for c in axis) for axis in axes)
    if not all(math.isfinite(c) for axis in lists for c in axis):
        raise ValueError
    return lists if any(lists) else None


def _whole(value: Any) -> int:
    """An integer, from text too; "1e4" is one."""
    if isinstance(value, bool):
        raise ValueError
    try:
        found = operator.index(int(value) if isinstance(value, str) else value)
        float(found)  # no size that anything is estimated with may overflow
        return found
    except (ValueError, TypeError):
        number = float(value)
        if number != int(number):
            raise ValueError from None
        return int(number)


def plain(value: Any) -> Any:
    """A value as JSON holds it: lists for tuples, None for infinity."""
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and math.isinf(value) else value


def as_text(value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if math.isinf(value) or float(f"{value:g}") == value else repr(value)
    if isinstance(value, tuple):  # numbers, or numbers along each axis
        nested = any(isinstance(v, tuple) for v in value)
        return ";".join(",".join(map(as_text, axis)) for axis in value) if nested else "x".join(map(str, value))
    if isinstance(value, Recipe):
        return value.name
    return "none" if value is None else str(value)


def type_in_words(expected: Any) -> str:
    """A type as the tables of settings show it."""
    is_union = typing.get_origin(expected) in (types.UnionType, typing.Union)
    parts = []
    for option in typing.get_args(expected) if is_union else (expected,):
        if typing.get_origin(option) is Literal:
            parts += list(typing.get_args(option))
        elif option is type(None):
            parts.append("none")
        else:
            parts.append({int: "integer", float: "number", bool: "true/false", str: "name"}.get(option, ""))
            if option == PerAxis:
                parts[-1] = "lists, -2,2;0"
            elif typing.get_origin(option) is tuple:
                parts[-1] = "integers, 40x40"
    return ", ".join(p for p in parts if p)


def _default(f: dataclasses.Field[Any]) -> Any:
    if f.default is not dataclasses.MISSING:
        return f.default
    return f.default_factory() if f.default_factory is not dataclasses.MISSING else None


_ENTRY = re.compile(r"^    (\w+(?:, \w+)*): (.*)$")


def _meanings(cls: type) -> dict[str, str]:
    """What the docstring of a class (and of its bases) says of each of its attributes."""
    result: dict[str, str] = {}
    for owner in reversed(cls.__mro__):
        text = owner.__dict__.get("__doc__") or ""
        names: tuple[str, ...] = ()
        inside = False
        for line in inspect.cleandoc(text).splitlines():
            found = _ENTRY.match(line)
            if line.strip() == "Attributes:":
                inside = True
            elif inside and line and not line.startswith(" "):
                inside = False
            elif inside and found:
                names = tuple(found.group(1).split(", "))
                result |= dict.fromkeys(names, found.group(2))
            elif inside and line.strip():
                result |= {n: f"{result[n]} {line.strip()}" for n in names}
    return result
