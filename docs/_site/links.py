"""Check the links of the built site: `python docs/_site/links.py build/docs`.

A link inside must lead to a file, and to a place in it that exists. Links to other sites are only read (there may be no network
where the site is built): scheme, host, no spaces.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Links and anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect href, src, id and name."""
        for name, value in attrs:
            if value is None:
                continue
            if name in ("href", "src") and tag != "link":
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)


@cache
def page(path: Path) -> Page:
    """Read once."""
    return Page(path)


def fault(link: str, source: Path, root: Path) -> str | None:
    """What is wrong with a link of a page; None if nothing is."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https"):
        return None if "." in parts.netloc and " " not in link else "is no address"
    if parts.scheme in ("data", "mailto", "javascript"):
        return None
    if parts.scheme or parts.netloc:
        return "has an unknown scheme"
    path = unquote(parts.path)
    target = source if not path else (root / path.lstrip("/") if path.startswith("/") else source.parent / path)
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "leads to no file"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target.resolve()).anchors:
        return "leads to no place in its page"
    return None


def main(root: Path) -> int:
    """Print what is wrong; 1 if anything is, or if there is nothing to check."""
    pages = sorted(p for p in root.rglob("*.html") if "_static" not in p.parts and "_downloads" not in p.parts)
    found = [(p, link, fault(link, p, root)) for p in pages for link in page(p.resolve()).links]
    wrong = [(p, link, reason) for p, link, reason in found if reason]
    for p, link, reason in wrong:
        print(f"{p.relative_to(root)}: {link} {reason}")
    print(f"{len(found)} links on {len(pages)} pages, {len(wrong)} wrong")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
