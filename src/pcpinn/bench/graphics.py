"""How figures look and how they are written: .png for the page, .pdf for a paper."""

from __future__ import annotations

import base64
import io
import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..files import write_atomically

METHOD_COLOURS = {"pcpinn": "#2563eb", "fem-fit": "#059669", "pinn": "#d97706"}
PAPER_COLOUR, OTHER_COLOUR = "#be185d", "#6b7280"
_MORE_COLOURS = ("#7c3aed", "#0891b2", "#65a30d", "#dc2626")
PRESET_LINES = {"default": "-", "quick": "--", "paper": ":"}
_STYLE: Any = {
    "font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.alpha": 0.25, "grid.linewidth": 0.6, "legend.frameon": False, "legend.fontsize": 8, "pdf.fonttype": 42,
    "text.usetex": False,
}  # fmt: skip


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that no window shows."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def style() -> AbstractContextManager[None]:
    """A context in which figures are made."""
    return mpl.rc_context(_STYLE)


def plain(text: str) -> str:
    """Text that matplotlib takes as it is, not as a formula."""
    return text.replace("$", r"\$")


def colour(method: str) -> str:
    """The same for a method in all figures."""
    return METHOD_COLOURS.get(method) or _MORE_COLOURS[sum(method.encode()) % len(_MORE_COLOURS)]


def write_figure(figure: Figure, folder: Path, name: str) -> tuple[str, list[Path]]:
    """Write name.png and name.pdf; also return the picture as a data address for a page."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9.=+-]+", "-", name).strip("-.")[:120]
    figure.draw_without_rendering()  # lays it out once, not again for each form
    figure.set_layout_engine("none")
    written = []
    for ending in ("png", "pdf"):
        out = io.BytesIO()
        nothing_of_the_moment = {"Software": None} if ending == "png" else {"CreationDate": None, "Producer": None}
        figure.savefig(out, format=ending, dpi=140, metadata=nothing_of_the_moment)
        path = folder / f"{name}.{ending}"
        write_atomically(path, out.getvalue())
        written.append(path)
    picture = base64.b64encode(written[0].read_bytes()).decode()
    return f"data:image/png;base64,{picture}", written


def thinned(count: int, most: int = 400) -> np.ndarray:
    """Indices of at most about `most` of `count` points, denser at the beginning as logarithmic axes want it."""
    if count <= most:
        return np.arange(count)
    logarithmic = np.geomspace(1, count, most // 2) - 1
    return np.unique(np.concatenate([logarithmic, np.linspace(0, count - 1, most // 2)]).astype(int))
