"""`python -m pcpinn`."""

from .cli import main

main()
