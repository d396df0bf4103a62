"""Plans on disk: meshes, steps and discrete solutions of a run to an accuracy, so that a resumed one need not plan again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...checkpoint import Contents
from ...discretize.step_scheme import step_scheme
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...solution.folder import mesh_from_tensors, mesh_tensors
from .inverses import Inverses
from .level import Elements, Level
from .marches import MarchLevel, Steps, space_of
from .space import Adapted
from .stepping import DiscreteMarch
from .steps import AdaptedMarch

_MOST = 4e7  # values; a larger plan is made again

Parts = tuple[dict[str, np.ndarray], dict[str, Any]]


class SteadyPlan:
    """Of a problem without a time of its own.

    Args:
        problem: the PDE.
        elements: of the discretisation.
    """

    def __init__(self, problem: Problem, elements: Elements) -> None:
        self._problem, self._elements = problem, elements

    def write(self, plan: Adapted) -> Parts | None:
        """Tensors and facts."""
        level = plan.level
        tensors = {"u": level.u, "better": level.better, "first.u": plan.first_u}
        facts = {"trust": plan.trust, "limited_by": plan.limited_by, "history": [list(row) for row in plan.history]}
        facts |= {
            "rest": plan.rest,
            "gap": plan.gap,
            "degree": level.coarse.space.degree,
            "quadrature": level.coarse.space.quadrature_order,
        }
        for name, mesh in (("mesh", level.mesh), ("first", plan.first.mesh)):
            _add_mesh(tensors, facts, name, mesh)
        return tensors, facts

    def read(self, contents: Contents, path: Path) -> Adapted:
        """Inverse of `write`."""
        tensors, facts = contents.tensors, contents.facts
        mesh, first = (_mesh(contents, name, path) for name in ("mesh", "first"))
        elements, rest = self._elements, float(facts.get("rest", 0.0))
        if "degree" in facts:  # of plans before there were degrees to choose: as asked
            elements = replace(elements, degree=int(facts["degree"]), quadrature=int(facts["quadrature"]))
        coarse = elements.on(self._problem, mesh)
        fine = coarse if rest else elements.finer(self._problem, mesh)
        begin = self._elements.on(self._problem, first)
        for name, size in (("u", coarse.size), ("better", fine.size), ("first.u", begin.size)):
            if tensors[name].shape != (size,):
                raise ValueError(f"{name} does not fit its mesh")
        level = Level(coarse, tensors["u"].copy(), fine, tensors["better"].copy(), Inverses(fine))
        history = [(int(size), float(error)) for size, error in facts["history"]]
        trust, gap = float(facts["trust"]), float(facts.get("gap", 0.0))
        return Adapted(level, begin, tensors["first.u"].copy(), trust, facts["limited_by"], history, rest, gap)


class MarchPlan:
    """Of a problem over time.

    Args:
        problem: the PDE, of first order in time.
        elements: of the discretisation in space.
        steps: scheme and time levels of the steps, whatever these are.
    """

    def __init__(self, problem: Problem, elements: Elements, steps: Steps) -> None:
        self._problem, self._elements, self._steps = problem, elements, steps

    def write(self, plan: AdaptedMarch) -> Parts | None:
        """Tensors and facts; None for a plan that is too large to keep."""
        marches = {"base": plan.level.base, "finer": plan.level.finer, "finest": plan.level.finest}
        if sum(m.values.size for m in marches.values()) > _MOST:
            return None
        tensors = {name: march.values for name, march in marches.items()} | {"times": plan.steps.times}
        facts: dict[str, Any] = {
            "trust": plan.trust,
            "limited_by": plan.limited_by,
            "history": [list(row) for row in plan.history],
            "coarser": len(plan.coarser),
            "failed": [list(row) for row in plan.failed],
            "needed": plan.needed,
        }
        _add_mesh(tensors, facts, "mesh", plan.mesh)
        for k, (mesh, steps) in enumerate(plan.coarser):
            _add_mesh(tensors, facts, f"coarser.{k}", mesh)
            tensors[f"times.{k}"] = steps.times
        return tensors, facts

    def read(self, contents: Contents, path: Path) -> AdaptedMarch:
        """Inverse of `write`."""
        tensors, facts = contents.tensors, contents.facts
        mesh, steps = _mesh(contents, "mesh", path), replace(self._steps, times=tensors["times"].copy())
        own = space_of(self._problem, mesh, self._elements, steps.times)
        finer = space_of(*self._elements.raised(self._problem, mesh), steps.times)
        level = {}
        for name, space, order in (
            ("base", own, steps.order),
            ("finer", finer, steps.order),
            ("finest", finer, steps.order + 1),
        ):
            values, scheme = tensors[name].copy(), step_scheme(steps.scheme, order)
            if values.shape != (1 + (len(steps.times) - 1) * order, space.size):
                raise ValueError(f"{name} does not fit its mesh")
            level[name] = DiscreteMarch(space, scheme, steps.times, values)
        return AdaptedMarch(
            MarchLevel(**level),
            mesh,
            steps,
            float(facts["trust"]),
            facts["limited_by"],
            [(int(a), int(b), float(c), float(d)) for a, b, c, d in facts["history"]],
            [
                (_mesh(contents, f"coarser.{k}", path), replace(steps, times=tensors[f"times.{k}"].copy()))
                for k in range(int(facts["coarser"]))
            ],
            [(int(count), float(t)) for count, t in facts["failed"]],
            facts.get("needed"),
        )


def _add_mesh(tensors: dict[str, np.ndarray], facts: dict[str, Any], name: str, mesh: Mesh) -> None:
    arrays, facts[name] = mesh_tensors(mesh)
    tensors |= {f"{name}.{key}": array for key, array in arrays.items()}


def _mesh(contents: Contents, name: str, path: Path) -> Mesh:
    own: Mapping[str, np.ndarray] = {
        key.removeprefix(f"{name}."): array.copy()
        for key, array in contents.tensors.items()
        if key.startswith(f"{name}.")
    }
    mesh = mesh_from_tensors(own, contents.facts[name], path)
    assert isinstance(mesh, Mesh)
    return mesh
