"""`python -m pcpinn.cli`."""

from . import main

main()
