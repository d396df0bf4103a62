import pytest

from pcpinn.bench.table import Mean
from pcpinn.reproduce import Comparison, Line
from pcpinn.reproduce.compare import (
    BETTER,
    DIFFERS,
    MATCH,
    NOT_RUN,
    NOTHING,
    WORSE,
    of_claim,
    of_errors,
    of_numbers,
)


def number(mean, std=None):
    return Mean(mean, std, 1)


@pytest.mark.parametrize(
    ("ours", "paper", "std", "verdict"),
    [
        (1.9e-2, 1e-2, None, MATCH),
        (0.6e-2, 1e-2, None, MATCH),
        (2.1e-2, 1e-2, None, WORSE),
        (0.4e-2, 1e-2, None, BETTER),
        (2.1e-2, 1e-2, 0.6e-2, MATCH),  # within two deviations
        (3e-2, 1e-2, 0.6e-2, WORSE),
    ],
)
def test_errors_match_within_a_factor_or_two_deviations(ours, paper, std, verdict):
    assert of_errors(number(ours), number(paper, std)) == verdict


def test_numbers_without_training_are_held_to_more():
    """The condition numbers of poisson2d-c without P, 159 against 113, do not agree."""
    assert of_numbers(number(159.0), number(113.0)) == DIFFERS
    assert of_numbers(number(58.0), number(60.3)) == MATCH


def test_what_is_missing_is_told_apart():
    assert of_errors(None, number(1.0)) == of_numbers(None, number(1.0)) == of_claim(None) == NOT_RUN
    assert of_errors(number(1.0), None) == of_numbers(number(1.0), None) == NOTHING
    assert (of_claim(True), of_claim(False)) == (MATCH, DIFFERS)


@pytest.mark.parametrize(
    ("verdicts", "verdict", "status"),
    [
        ([], NOT_RUN, "not run"),
        ([NOT_RUN, NOTHING], NOT_RUN, "not run"),
        ([MATCH, NOT_RUN], MATCH, "match, so far 1 of 3 runs"),
        ([MATCH, BETTER], BETTER, "better, so far 1 of 3 runs"),
        ([MATCH, BETTER, WORSE], DIFFERS, "differs (1 of 3 lines), so far 1 of 3 runs"),
        ([DIFFERS, NOTHING], DIFFERS, "differs (1 of 1 line), so far 1 of 3 runs"),
    ],
)
def test_an_item_is_as_good_as_its_lines(verdicts, verdict, status):
    found = Comparison(("a",), tuple(Line(("x",), v) for v in verdicts), done=1, planned=3)
    assert (found.verdict, found.status) == (verdict, status)
