"""A solve to an accuracy that ends without an answer: the verdict says why."""

from __future__ import annotations

from ..errors import PcpinnError
from .verdict import Verdict


class NoAnswer(PcpinnError):
    """Nothing could be trained. The command line ends with code 3, as for every accuracy that is not reached.

    Attributes:
        verdict: not reached, without an estimate.
    """

    def __init__(self, asked: float, limited_by: str, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.verdict = Verdict(asked, False, None, limited_by, f"{problem}; {remedy}")
