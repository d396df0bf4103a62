"""The one exception for everything that the user can correct."""


class PcpinnError(Exception):
    """A refused input: says what is wrong, with which value, and what to do about it.

    The command line prints the message and exits with code 2; no traceback, nothing half-written.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  -> {remedy}" if remedy else problem)


class PcpinnWarning(UserWarning):
    """Something the user probably wants to know, but that does not stop the work."""


class AccuracyWarning(PcpinnWarning):
    """An answer is not as accurate as was asked, or nothing is known of its accuracy."""
