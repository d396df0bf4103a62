"""How Sphinx builds the site: `make docs`."""

import os
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_site"))
# the processes that run the gallery find it, too
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE / "_site"), os.environ.get("PYTHONPATH")]))

from generated import filled  # noqa: E402

project = "pcpinn"
author = "the authors of pcpinn"
version = release = version_of("pcpinn")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["examples", "gallery", "_site", "auto_gallery/*.ipynb", "auto_gallery/*.py", "paper/studies"]
suppress_warnings = ["config.cache"]  # the order of the gallery is a class, which cannot be pickled

html_theme = "furo"
html_title = f"pcpinn {version}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

default_role = "code"  # docstrings mark names with single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the sentences of docstrings say it better than long unions
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "parallel": 2,
    "image_scrapers": ("claims.drawn_and_checked",),
    "capture_repr": (),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 0,
    "thumbnail_size": (360, 270),
}

# Pages are read on GitHub, too, where a table of contents would be shown as code: it is added here.
ADDED = {"decisions/README": "\n```{toctree}\n:hidden:\n:glob:\n\n[0-9]*\n```\n"}


def on_source(app, name, source):
    """What differs between a page in the repository and the same page here."""
    text = filled(source[0]) + ADDED.get(name, "")
    source[0] = re.sub(r"\]\((?:\.\./)+CONTRIBUTING\.md\)", "](/contributing.md)", text)


def on_docstring(app, what, name, obj, options, lines):
    """Docstrings are plain text with mathematics: |x|, u* and n_ mean nothing to a typesetter."""
    for i, line in enumerate(lines):
        parts = line.split("`")  # outside of names
        parts[::2] = [re.sub(r"(\||\*|(?<=\w)_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
        parts[2::2] = [re.sub(r"^(?=\w)", r"\\ ", part) for part in parts[2::2]]  # `Local`s
        lines[i] = "`".join(parts)


def setup(app):
    """Connect both."""
    app.connect("source-read", on_source)
    app.connect("autodoc-process-docstring", on_docstring, priority=400)  # before napoleon
