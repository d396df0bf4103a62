"""Pages for newcomers: the Python on each runs from top to bottom, as it is printed; what they show of the site exists."""

import re
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import pcpinn as pc
from pcpinn.precondition import PRECONDITIONERS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    p for folder in ("start", "tutorials", "guides", "how", "reference") for p in (DOCS / folder).glob("*.md")
)
PAGES = [DOCS / "index.md", DOCS / "published-data.md", *PAGES]


SMALLER = {"index.md": ("accuracy=1e-2)", "size=0.2, width=8, iterations=8)")}  # the first answer solves it as it is


def blocks(page):
    """The Python of a page, block by block, each on its own lines so that an error names the line of the page."""
    text = page.read_text(encoding="utf-8")
    if page.name in SMALLER:
        long, short = SMALLER[page.name]
        assert long in text
        text = text.replace(long, short)
    for found in re.finditer(r"```python\n(.*?)```", text, flags=re.DOTALL):
        yield "\n" * text.count("\n", 0, found.start(1)) + found[1]


def run(page):
    """What the blocks leave behind."""
    names: dict = {"__name__": "page"}
    for code in blocks(page):
        exec(compile(code, str(page), "exec"), names)
    return names


WITH_CODE = [p for p in PAGES if "```python" in p.read_text(encoding="utf-8")]


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """Pages write files; figures are not shown."""
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    yield
    PRECONDITIONERS.discard("blocks")


def expect(page, names):
    """What is known of the answers of a page."""
    EXPECTED.get(page, lambda n: None)(names)


def first_answer(names):
    assert names["solution"].verdict.reached
    x = [[0.1, 0.5], [0.9, 0.9]]
    np.testing.assert_allclose(names["again"](x), names["solution"](x))
    assert Path("plate.png").exists()


def verdict(names):
    assert names["verdict"].reached
    assert np.abs(names["solution"](names["x"]) - names["truth"]).max() < 0.02
    assert names["poor"].verdict.reached is False
    assert names["poor"].verdict.limited_by == "network"


def fields(names):
    assert names["solution"].verdict.reached
    right, up = names["solution"]([[2.0, 0.5]])[0]
    assert right == pytest.approx(9.3e-6, rel=0.05)
    assert abs(up) < 1e-7
    pull, side = names["solution"].flux("left", "u")
    assert -1e6 in pull
    assert 0.0 in side
    assert names["flow"]([[0.5, 0.8]], "u")[0, 0] > 0


def time(names):
    assert names["solution"].verdict.reached
    at = [[0.5, 2.0], [0.2, 1.0]]
    np.testing.assert_allclose(names["solution"](at), names["trained"](at), rtol=0.05)


def waves(names):
    np.testing.assert_allclose(names["solution"]([[1.0]])[0], [np.cos(10), np.sin(10)], atol=0.02)


def nonlinear(names):
    assert names["solution"]([[0.5]]) == pytest.approx(0.6421, abs=2e-3)  # of the equation for the maximum of Bratu's u


def mesh(names):
    assert names["mesh"].cell_count == names["kept"].mesh.cell_count == 576
    assert names["solution"].verdict.reached
    x = [[0.5, 0.5], [1.5, 0.2]]
    np.testing.assert_allclose(names["solution"](x), names["kept"](x), rtol=0.1)
    assert set(names["mesh"].boundary_names) == {"inflow", "outflow", "walls"}


def inverse(names):
    for (value, deviation), truth in zip(names["numbers"], (0.2, 0.5), strict=True):
        assert abs(value - truth) < 4 * deviation < 0.3 * truth
    wall = names["found"]
    found, std = wall.coefficient("a")(names["where"]), wall.std("a", names["where"])
    assert (np.abs(found - [1.25, 1.5, 1.75]) < 4 * std).all()


def families(names):
    assert names["surrogate"].verdict.reached
    h = names["h"].item()
    tip = names["surrogate"].refine({"k": 1.0, "h": h}, accuracy=1e-3)([[1.0]])
    assert tip == pytest.approx(0.5, abs=0.03)
    assert (np.abs(names["result"].mean - [1.2, 1.5]) < 4 * names["result"].std).all()


def published_data(names):
    assert abs(names["solved"]) < 1e-9 * abs(names["stated"])


EXPECTED = {"published-data.md": published_data} | {
    f"{folder}/{f.__name__.replace('_', '-')}.md": f
    for folder, functions in {
        "start": (first_answer, verdict),
        "tutorials": (fields, time, waves, nonlinear, mesh, inverse, families),
    }.items()
    for f in functions
}


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda p: str(p.relative_to(DOCS)))
def test_the_python_of_a_page_runs(page):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pc.PcpinnWarning)
        names = run(page)
    expect(str(page.relative_to(DOCS)), names)


def test_expectations_are_of_pages_that_exist():
    assert EXPECTED.keys() <= {str(p.relative_to(DOCS)) for p in WITH_CODE}


def test_every_public_name_is_in_the_reference_once():
    listed = re.findall(
        r"^\.\. auto\w+:: pcpinn\.(\w+)$", (DOCS / "reference" / "api.md").read_text(), flags=re.MULTILINE
    )
    assert sorted(listed) == sorted(pc.__all__)
