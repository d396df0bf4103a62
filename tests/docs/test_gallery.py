"""The gallery: what its examples have in common, and that they keep their word. `make docs` runs all of them."""

import ast
import importlib.util
import re
import sys
import types
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

DOCS = Path(__file__).parents[2] / "docs"
FILES = {p.stem: p for p in sorted((DOCS / "gallery").glob("*.py"))}
KINDS = {"elliptic", "parabolic", "hyperbolic", "reaction", "flow", "solid", "electro", "inverse", "family"}
QUICK = ("elliptic_layer", "family_fin")  # `make docs` runs and checks all of them


def module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "_site" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_there_are_enough_of_each_kind():
    assert len(FILES) >= 24
    found = {kind: [n for n in FILES if n.startswith(f"{kind}_")] for kind in KINDS}
    assert all(len(names) >= 2 for names in found.values()), found
    assert sum(map(len, found.values())) == len(FILES)
    listed = re.findall(r"/auto_gallery/(\w+)`", (DOCS / "gallery" / "GALLERY_HEADER.rst").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_the_anatomy_of_an_example(name):
    text = FILES[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    tree = ast.parse(text)
    title, underline, *_ = ast.get_docstring(tree).splitlines()
    assert underline == len(title) * "="
    assigned = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert "error" in assigned, "its true error"
    assert assigned & {"solution", "surrogate", "found"}
    assert text.rstrip().endswith("plt.show()")


@pytest.mark.parametrize("name", QUICK)
def test_an_example_keeps_its_word(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    names: dict = {"__name__": "__main__"}
    exec(compile(FILES[name].read_text(encoding="utf-8"), str(FILES[name]), "exec"), names)
    module("claims").check(names)
    assert plt.get_fignums(), "it draws something"
    plt.close("all")
    assert not list(tmp_path.iterdir())
    printed = capsys.readouterr().out
    assert "reached" in printed or "converged: True" in printed


class Answer:
    """What the check looks at."""

    def __init__(self, reached, **more):
        import pcpinn.solution.verdict as v

        self.verdict, self.result = v.Verdict(1e-2, reached, 1e-3), more


@pytest.mark.parametrize(
    "names",
    [{"error": 0.02, "solution": Answer(True)}, {"solution": Answer(True)}, {"error": 1e-3},
     {"error": 1e-3, "solution": Answer(False)}, {"error": 1e-3, "found": Answer(None, inverse={"converged": False})},
     {"error": float("nan"), "solution": Answer(True)}],
)  # fmt: skip
def test_untrue_claims_are_noticed(names):
    claims = module("claims")
    with pytest.raises(claims.UntrueError):
        claims.check(names)
    claims.check({"error": 1e-3, "solution": Answer(True)})


def test_an_example_without_a_picture_or_with_files_is_noticed(tmp_path, monkeypatch):
    """What sphinx-gallery calls after each example, with a stand-in for its own part."""
    scrapers = types.SimpleNamespace(matplotlib_scraper=lambda *_: "pictures")
    monkeypatch.setitem(sys.modules, "sphinx_gallery", types.SimpleNamespace(scrapers=scrapers))
    monkeypatch.setitem(sys.modules, "sphinx_gallery.scrapers", scrapers)
    matplotlib.use("agg")
    plt.close("all")
    claims, names = module("claims"), {"example_globals": {"error": 1e-3, "solution": Answer(True)}}
    assert claims.GALLERY == DOCS / "gallery"
    claims.GALLERY = tmp_path
    (tmp_path / "example.py").touch()
    with pytest.raises(claims.UntrueError, match="draws nothing"):
        claims.drawn_and_checked(None, names, {})
    plt.figure()
    assert claims.drawn_and_checked(None, names, {}) == "pictures"
    (tmp_path / "u.png").touch()
    with pytest.raises(claims.UntrueError, match=r"u\.png"):
        claims.drawn_and_checked(None, names, {})
    plt.close("all")


def test_links_that_lead_nowhere_are_noticed(tmp_path, capsys, monkeypatch):
    links = module("links")
    (tmp_path / "b").mkdir()
    (tmp_path / "a.html").write_text('<p id="here"><a href="b/c.html#there">c</a> <a href="#here">up</a></p>')
    (tmp_path / "b" / "c.html").write_text(
        '<p id="there"><a href="../a.html">a</a> <a href="https://example.org/x">e</a></p>'
    )
    assert links.main(tmp_path) == 0
    for wrong in ("b/d.html", "b/c.html#nowhere", "#gone", "https://nowhere", "ftp:x"):
        links.page.cache_clear()
        (tmp_path / "a.html").write_text(f'<a href="{wrong}">x</a>')
        assert links.main(tmp_path) == 1
        assert wrong in capsys.readouterr().out
    assert "links" not in sys.modules
