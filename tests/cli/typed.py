"""A command line as a user types it."""

import pytest

from pcpinn.cli import main


def run(capfd, *arguments):
    """Exit code, standard output, standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    return stop.value.code or 0, out, err
