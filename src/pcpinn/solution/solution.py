"""The answer: a function of any point, differentiable, checked, drawable, storable."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
import torch

from ..discretize.outside import outside_of
from ..errors import PcpinnError, PcpinnWarning
from ..files import make_folder_of, write_atomically
from ..mesh.slab_mesh import AnyMesh
from ..problem.field import Field, component_names
from ..problem.problem import Problem
from ..problem.real import real_array, refuse_complex
from ..problem.shape_base import Domain
from ..train.history import History
from .card import card, need_pictures
from .cut import Cut, axis_names, value_table
from .export import write_npz, write_vtu
from .folder import create_run, finish_run
from .hdf import write_vtkhdf, write_xdmf
from .quantity import Quantities, Quantity, ask
from .recorded import write_onnx, write_pt2
from .reference import Reference, compare
from .result import Result
from .series import write_series
from .verdict import Verdict

Outside = Literal["warn", "nan", "ignore"]

_BESIDE = 0.05  # parts of a cell
_LOOKED_AT = 20_000  # points of one call, spread evenly, that are looked at for a warning


@dataclass(repr=False)
class Solution:
    """A trained network with the record of how it came about.

    Attributes:
        network: u_theta, a torch module; of a march, the networks of all its windows.
        fields: what its outputs stand for, in order.
        mesh: where it was trained.
        result: errors, times and sizes: what `result.json` holds, with `.success`, `.message`, `.iterations`.
        history: loss by iteration.
        settings: what the solve was asked for.
        problem: the PDE; None for a solution loaded from disk, where functions are not kept.
    """

    network: Any  # a torch module with `theta`: of one run, of the windows of a march, or of nodal values
    fields: tuple[Field, ...]
    mesh: AnyMesh
    result: Result
    history: History = field(default_factory=History)
    settings: dict[str, Any] = field(default_factory=dict)
    problem: Problem | None = None

    def __post_init__(self) -> None:
        self.result = Result(self.result)
        self.kept: dict[str, Any] = {}  # what quantities share
        self._warned = False  # of points outside

    def __repr__(self) -> str:
        sizes = ", ".join(f"{k} {v:.1e}" for k, v in self.errors.items() if k in ("l2re", "estimate") and v is not None)
        names, problem = ", ".join(self.names), self.result.get("problem", "problem")
        return f"<Solution of {problem}: {names} on {self.mesh.cell_count} cells{'; ' + sizes if sizes else ''}>"

    def to(self, device: torch.device | str) -> Self:
        """Move the network to a device, as torch modules do; returns the solution itself."""
        self.network.to(device)
        return self

    def __call__(self, x: Any, field: str | None = None, outside: Outside = "warn") -> Any:
        """Values at points x (n, d): (n,) for one scalar, else (n, components). Torch in, torch out (differentiable).

        Args:
            x: NumPy array, nested list or torch tensor.
            field: only this field.
            outside: what to do about points outside the domain, in a hole, say, where a network has numbers that mean nothing:
                warn (once for each solution), nan (in their place) or ignore.
        """
        given_torch = isinstance(x, torch.Tensor)
        refuse_complex(x, "a point")
        theta = self.network.theta
        try:
            points: Any = x if given_torch else real_array(x, "a point")
        except (ValueError, TypeError) as error:
            raise PcpinnError(f"{x!r} are not points", "give one row of coordinates per point") from error
        if points.ndim != 2 or points.shape[1] != self.mesh.dimension:
            raise PcpinnError(
                f"points have shape {tuple(points.shape)}, expected (n, {self.mesh.dimension})",
                "give one row per point, such as solution([[0.0, 0.0]])",
            )
        columns = list(self._columns(field))
        elsewhere = self._elsewhere(points, outside)
        if given_torch:
            values = self.network(points.to(theta))[:, columns]
            values = values.to(points) if points.is_floating_point() else values.to(points.device)
        else:
            with torch.no_grad():
                values = self.network(torch.as_tensor(points).to(theta))[:, columns].double().cpu().numpy()
        if elsewhere is not None:
            if given_torch:
                values = torch.where(torch.as_tensor(elsewhere[:, None], device=values.device), math.nan, values)
            else:
                values[elsewhere] = math.nan
        return values[:, 0] if len(columns) == 1 else values

    def outside(self, x: Any) -> np.ndarray:
        """(n,) which points (n, d) lie outside the domain; beside the mesh by a twentieth of a cell counts as inside."""
        points = real_array(x, "a point")
        domain = None if self.problem is None else self.problem.domain
        suspect = ~domain.contains(points) if isinstance(domain, Domain) else np.ones(len(points), dtype=bool)
        if suspect.any():  # walls are rounded, and those of a mesh are not quite those of its shape
            suspect[suspect] = outside_of(self.mesh, points[suspect], _BESIDE)
        return suspect

    def _elsewhere(self, points: Any, outside: Outside) -> np.ndarray | None:
        """Which points are to be nan; None if that is not asked for."""
        if outside not in get_args(Outside):
            raise PcpinnError(f"outside={outside!r} is not a choice", f"use {', '.join(get_args(Outside))}")
        if outside == "ignore" or (outside == "warn" and self._warned):
            return None
        try:
            here = points.detach().cpu().double().numpy() if isinstance(points, torch.Tensor) else points
        except RuntimeError:
            if outside == "warn":
                return None  # inside torch.func, where nobody can look
            raise PcpinnError("points inside torch.func cannot be looked at", "use outside='ignore' there") from None
        found = self.outside(here if outside == "nan" else here[:: -(-len(here) // _LOOKED_AT) or 1])
        if outside == "nan":
            return found
        if found.any():
            self._warned = True
            warnings.warn(
                f"{int(found.sum())} of {len(found)} points lie outside the domain, where the values mean nothing; "
                "with outside='nan' they are nan, with outside='ignore' nothing is said",
                PcpinnWarning,
                stacklevel=3,
            )
        return None

    def _columns(self, name: str | None) -> range:
        at = 0
        for f in self.fields:
            if f.name == name:
                return range(at, at + f.components)
            at += f.components
        if name is None:
            return range(at)
        raise PcpinnError(f"there is no field {name!r}", f"the fields are {', '.join(f.name for f in self.fields)}")

    @property
    def names(self) -> tuple[str, ...]:
        """A name per component: u, or u1, u2 for a vector."""
        return component_names(self.fields)

    @property
    def errors(self) -> dict[str, Any]:
        """The errors of the record: against the reference, and by part."""
        return self.result.get("errors", {})

    @property
    def verdict(self) -> Verdict:
        """Whether the answer is as accurate as was asked; if not, what limited it and what to do."""
        return Verdict(**(self.result.get("verdict") or {}))

    def metrics(self, reference: Reference) -> dict[str, Any]:
        """Errors against another reference."""
        return compare(
            np.reshape(self(reference.points, outside="ignore"), (len(reference.points), -1)), reference, self.names
        )

    def integrate(self, f: Callable[..., Any], on: Any = None, **options: Any) -> Quantities:
        """The integral of f(x, *fields), or f(x, n, *fields) on a boundary, with its error; see `pcpinn.integrate`."""
        return ask("integrate", self, f, on, **options)

    def flux(self, on: str, field: str | None = None, **options: Any) -> Quantities:
        """The integral of flux . n over a boundary, with its error; see `pcpinn.flux`."""
        return ask("flux", self, on, field, **options)

    def value(self, x: Any, of: Any = None, **options: Any) -> Quantities:
        """A field, or a function f(x, *fields), at one point, with its error; see `pcpinn.value`."""
        return ask("value", self, x, of, **options)

    def maximum(self, of: Any = None, **options: Any) -> Quantity:
        """The largest value of a field or function, with its place and error; see `pcpinn.maximum`."""
        return ask("maximum", self, of, **options)

    def minimum(self, of: Any = None, **options: Any) -> Quantity:
        """The smallest value of a field or function, with its place and error; see `pcpinn.minimum`."""
        return ask("minimum", self, of, **options)

    def plot(self, path: str | Path | None = None, reference: Reference | None = None) -> Any:
        """Draw the solution (and its error, given a reference).

        Args:
            path: a file whose ending chooses png, pdf or svg; None for a figure of pyplot, which notebooks show.
            reference: what to compare with.

        Returns:
            The path; without one, the axes of all panels.
        """
        pictures = need_pictures()
        if path is not None:
            pictures.require_picture(Path(path))
            figure = pictures.empty_figure()
            self.draw_into(figure, reference)
            return pictures.save_figure(figure, Path(path))
        return pictures.screen_axes(lambda figure: self.draw_into(figure, reference))

    def draw_into(self, figure: Any, reference: Any = None) -> np.ndarray:
        """Draw into an empty figure of matplotlib; the axes of all panels."""
        return need_pictures().compose(figure, self, reference, str(self.result.get("problem", "")))

    def show(self) -> None:
        """Show picture, verdict and errors in a notebook; a window with the picture elsewhere."""
        if "ipykernel" in sys.modules:
            from IPython.display import display

            display(self)
        else:
            need_pictures().show_on_screen(self.plot)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return card(self)

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Film a solution over time into a .gif or .mp4; options as of `pcpinn.solution.animation.animate`."""
        need_pictures()
        from .animation import animate

        return animate(self, path, **{"title": str(self.result.get("problem", "")), **options})

    def to_vtu(self, path: str | Path) -> Path:
        """Values at the mesh's nodes, for ParaView."""
        return write_vtu(self, Path(path))

    def to_pvd(self, path: str | Path, **options: Any) -> Path:
        """A series over time for ParaView: NAME.pvd and NAME_vtu; options as of `pcpinn.solution.series.write_series`."""
        return write_series(self, path, **options)

    def to_npz(self, path: str | Path) -> Path:
        """Mesh and nodal values as NumPy arrays."""
        return write_npz(self, Path(path))

    def to_xdmf(self, path: str | Path, **options: Any) -> Path:
        """For ParaView: NAME.xdmf with its arrays in NAME.h5, over time too; options as of `pcpinn.solution.hdf.write_xdmf`."""
        return write_xdmf(self, Path(path), **options)

    def to_vtkhdf(self, path: str | Path, **options: Any) -> Path:
        """For ParaView in one file, over time too; options as of `pcpinn.solution.hdf.write_vtkhdf`."""
        return write_vtkhdf(self, Path(path), **options)

    def to_csv(self, path: str | Path, *cuts: str, count: int | None = None) -> Path:
        """Values along cuts, "0,0:1,1" between two points or "x=0.5,t=1" with fixed coordinates; those in the domain.

        Args:
            path: the table, with a column per coordinate and per component.
            cuts: one or more, below each other.
            count: points along each cut, or along each free axis of a plane.
        """
        if not cuts:
            raise PcpinnError("a table of cuts without a cut", "give one, such as x=0.5 or 0,0:1,1")
        x = np.concatenate([Cut.parse(cut).points(self.mesh, count) for cut in cuts])
        x = x[~self.outside(x)]
        if not len(x):
            raise PcpinnError(f"{', '.join(cuts)} does not meet the domain", "cut elsewhere")
        values = np.reshape(self(x, outside="ignore"), (len(x), -1))
        make_folder_of(Path(path))
        write_atomically(Path(path), value_table(self.mesh, self.names, x, values))
        return Path(path)

    def to_onnx(self, path: str | Path) -> Path:
        """The network for other programs: input `x` (n, d), outputs `values` (n, C) and `gradients` (n, C, d)."""
        facts = {"problem": str(self.result.get("problem", "")), "coordinates": axis_names(self.mesh)}
        return write_onnx(self.network, self.mesh.dimension, Path(path), facts | {"components": list(self.names)})

    def to_pt2(self, path: str | Path) -> Path:
        """The network for torch without pcpinn: `torch.export.load(path).module()`, which can be differentiated."""
        return write_pt2(self.network, self.mesh.dimension, Path(path))

    @property
    def kind(self) -> str:
        """Of a folder that holds it: which loader reads it back."""
        return "forward"

    def save(self, folder: str | Path) -> Path:
        """Write JSON, safetensors and CSV into a folder that `pcpinn.load` reads; it is there whole, or not at all."""
        folder = Path(folder)
        fields = [asdict(f) for f in self.fields]
        record = {"problem": self.result.get("problem", "problem"), "kind": self.kind, "fields": fields}
        create_run(folder, {**record, "settings": self.settings}, self.mesh, self.finish)
        return folder

    def finish(self, folder: Path) -> None:
        """Add the answer to the folder of a run; result.json last."""
        finish_run(folder, self.network, self.history, self.result)
