"""The report: complete, self-contained, harmless, and fit for a phone (in a real browser where there is one)."""

import json
import re
import shutil
from html.parser import HTMLParser

import browser
import pytest
import tiny

from pcpinn import PcpinnError
from pcpinn.bench import BenchFolder
from pcpinn.bench.page import write_page

OWN = """
import numpy as np, torch, pcpinn as pc
inside = pc.Rectangle((0, 0), (1, 1))
problem = pc.Problem(inside, flux=lambda x, u: u.grad, source=lambda x, u: 0 * u.value,
                     boundary=dict.fromkeys(inside.boundary_names, pc.Dirichlet(lambda x: x[0])),
                     name="<script>alert($1)</script>/../x")
x = np.stack(np.meshgrid(*[np.linspace(0, 1, 9)] * 2), -1).reshape(-1, 2)
reference = pc.Reference(x, x[:, :1])
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Two methods on a line, a wave in the plane, a sweep, a failure, and a hostile name."""
    folder = tmp_path_factory.mktemp("page") / "b"
    (folder.parent / "own.py").write_text(OWN)
    tiny.run(folder, tiny.plan(methods=("pcpinn", "fem-fit")))
    tiny.run(folder, tiny.plan(problems=("wave1d-c",), changes={"steps": "8"}, trials=1))
    tiny.run(
        folder, tiny.plan(problems=("wave1d-c", str(folder.parent / "own.py")), changes={"cells": "4x4"}, trials=1)
    )
    tiny.run(folder, tiny.plan(ablation="drop-tolerance", trials=1, changes={"cells": "12", "degree": "1"}))
    return BenchFolder(folder)


@pytest.fixture(scope="module")
def page(bench):
    written = write_page(bench, bench.path / "report.html")
    return written, written[0].read_text()


class Links(HTMLParser):
    """Whatever a page refers to, and the tags in it."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.tags, self.ids = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.targets += [v for k, v in attributes if k in ("src", "href", "action", "srcset", "data")]
        self.ids += [v for k, v in attributes if k == "id"]


def test_it_holds_the_numbers_commands_and_figures(page, bench):
    _, text = page
    for row in bench.rows().values():
        if row.finished:
            assert f"--seed {row.seed}" in text
    for words in ("paper / ours", "1.28e-2", "NTK", "training", "discretisation", "u_tt - 4 u_xx = 0", "sin(P x)",
                  "pcpinn bench --ablation drop-tolerance", "pcpinn solve poisson1d --preset quick --method fem-fit", "Failed",
                  "width = 4"):  # fmt: skip
        assert words in text, words


def test_it_refers_to_nothing_outside(page):
    found = Links(page[1])
    assert all(t.startswith(("data:", "#")) for t in found.targets)
    assert {t[1:] for t in found.targets if t.startswith("#")} <= set(found.ids)
    assert "script" not in found.tags
    assert "http" not in re.sub(r"data:[^\"]*", "", page[1]).replace("http-equiv", "")
    assert "url(" not in page[1]


def test_names_from_outside_are_harmless(page, bench):
    assert "<script>" not in page[1]
    assert "&lt;script&gt;" in page[1]
    assert all(path.parent in (bench.path, bench.path / "figures") for path in page[0])


def test_figures_come_for_page_and_paper(page):
    names = {path.name for path in page[0][1:]}
    assert {
        "overview.png",
        "overview.pdf",
        "map-poisson1d.pdf",
        "convergence-wave1d-c.pdf",
        "map-wave1d-c.png",
    } <= names
    assert any(name.startswith("sweep-drop-tolerance") for name in names)
    for path in page[0][1:]:
        assert path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"%PDF")


def test_lost_runs_leave_a_page_without_their_pictures(tmp_path):
    tiny.run(tmp_path / "b", tiny.plan(trials=1))
    shutil.rmtree(tmp_path / "b" / "runs")
    written = write_page(BenchFolder(tmp_path / "b"), tmp_path / "elsewhere" / "page.html")
    assert "No picture" in written[0].read_text()
    assert {p.name for p in written} == {"page.html", "overview.png", "overview.pdf"}


def test_rows_of_no_plan_are_left_out(bench, tmp_path):
    """A key in results.csv is never taken for a path."""
    shutil.copytree(bench.path, tmp_path / "b")
    rows = (tmp_path / "b" / "results.csv").read_text().splitlines()
    key = rows[1].split(",")[0]
    (tmp_path / "b" / "results.csv").write_text("\n".join([rows[0], rows[1].replace(key, "../../../stranger")]) + "\n")
    with pytest.raises(PcpinnError, match="no results"):
        write_page(BenchFolder(tmp_path / "b"), tmp_path / "page.html")


def test_no_benchmark(tmp_path):
    with pytest.raises(PcpinnError, match="no benchmark"):
        write_page(BenchFolder(tmp_path), tmp_path / "page.html")
    (tmp_path / "bench.json").write_text(json.dumps({"format": 1, "plans": []}))
    with pytest.raises(PcpinnError, match="no results"):
        write_page(BenchFolder(tmp_path), tmp_path / "page.html")


@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium on this machine: apt install chromium")
def test_in_chromium(page, tmp_path):
    chromium = browser.Browser(browser.find(), tmp_path / "profile")
    try:
        colours = {}
        for width, dark in ((390, False), (390, True), (1280, False)):
            chromium.open(page[0][0], width, dark=dark)
            assert chromium.complaints == []
            assert [r for r in chromium.requests if not r.startswith("data:")] == [page[0][0].resolve().as_uri()]
            assert chromium.evaluate(
                "document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth"
            )
            assert chromium.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 300)")
            assert chromium.evaluate("document.images.length") >= 7
            colours[dark] = chromium.evaluate("getComputedStyle(document.body).backgroundColor")
            if width == 390:  # tables are wider than a phone: they scroll in their own boxes
                boxes = "[...document.querySelectorAll('.box')]"
                assert chromium.evaluate(f"{boxes}.some(b => b.scrollWidth > b.clientWidth)")
                assert chromium.evaluate(f"{boxes}.every(b => b.getBoundingClientRect().right <= innerWidth)")
        assert colours[True] != colours[False]
        assert chromium.evaluate("document.querySelectorAll('details').forEach(d => d.open = true) || true")
        assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth")
    finally:
        chromium.close()
