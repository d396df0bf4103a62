"""The exception for what the user can put right."""

import pytest

import pcpinn
from pcpinn.errors import PcpinnError, PcpinnWarning


def test_problem_and_remedy():
    error = PcpinnError("it is broken", "mend it")
    assert (error.problem, error.remedy) == ("it is broken", "mend it")
    assert str(error) == "it is broken\n  -> mend it"
    assert str(PcpinnError("it is broken")) == "it is broken"


def test_they_are_public():
    assert pcpinn.PcpinnError is PcpinnError
    assert issubclass(PcpinnWarning, UserWarning)


@pytest.mark.parametrize("name", pcpinn.__all__)
def test_every_public_name_exists(name):
    assert getattr(pcpinn, name).__doc__
