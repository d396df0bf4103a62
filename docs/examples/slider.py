"""A page with sliders: the trained network answers in the browser."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from common import surrogate as trained


def main(time_limit=40.0, page="docs/examples/slider.html"):
    """Returns the page's path."""
    return trained(time_limit).slider(page)


if __name__ == "__main__":
    print(main())
