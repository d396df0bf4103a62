"""What an example of the gallery claims, held against its true error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[1] / "gallery"


class UntrueError(Exception):
    """An example that is sure of an accuracy that it does not have, or says nothing of its error."""


def check(names: dict[str, Any]) -> None:
    """Look at what an example left behind: `error`, its true relative error, and `solution`, `surrogate` or `found`.

    Raises:
        UntrueError: where the verdict says reached, and the true error is larger than what was asked.
    """
    error = names.get("error")
    if error is None or not 0 <= error < 0.1:
        raise UntrueError(f"the true error is {error}")
    answer = next((names[n] for n in ("solution", "surrogate", "found") if n in names), None)
    if answer is None:
        raise UntrueError("there is no solution, surrogate or found")
    verdict = answer.verdict
    if verdict.reached and error > verdict.asked:
        raise UntrueError(f"the true error is {error:.1e}, and the verdict {verdict.message!r}")
    inverse = answer.result.get("inverse")
    if verdict.reached is False or (inverse and not inverse["converged"]):
        raise UntrueError("an example of the gallery should reach what it asks for")


def drawn_and_checked(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """For sphinx-gallery, after each example (which is one block): its pictures, once its claim has been checked.

    Raises:
        UntrueError: as above, and where there is no picture, or a file is left behind.
    """
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    check(block_vars["example_globals"])
    if not plt.get_fignums():
        raise UntrueError("it draws nothing")
    left = [p.name for p in GALLERY.iterdir() if p.suffix not in (".py", ".rst") and p.name != "__pycache__"]
    if left:
        raise UntrueError(f"it leaves {', '.join(left)} behind")
    return matplotlib_scraper(block, block_vars, gallery_conf)
