"""The history as text and as an array."""

import csv

import numpy as np
import pytest

from pcpinn.train import History
from pcpinn.train.history import COLUMNS

HEADER = "iteration,seconds,loss,residual\n"
ROWS = [(1, 0.12344, 0.5), (2, 1.5, 1 / 3), (3, 100.0, 1.2345678901234567e-19), (4, 101.0, 0.0)]


def history():
    result = History()
    for row in ROWS:
        result.add(*row)
    return result


def test_csv_keeps_every_digit_of_the_losses():
    rows = list(csv.DictReader(history().to_csv().splitlines()))
    assert tuple(rows[0]) == COLUMNS
    assert [int(r["iteration"]) for r in rows] == [1, 2, 3, 4]
    assert [float(r["loss"]) for r in rows] == [row[2] for row in ROWS]
    np.testing.assert_allclose([float(r["residual"]) for r in rows], np.sqrt([2 * row[2] for row in ROWS]), rtol=1e-15)
    np.testing.assert_allclose([float(r["seconds"]) for r in rows], [row[1] for row in ROWS], atol=1e-4)


def test_csv_round_trip():
    back = History.from_csv(history().to_csv())
    assert [(i, l) for i, _, l in back.rows] == [(i, l) for i, _, l in ROWS]
    np.testing.assert_allclose([s for _, s, _ in back.rows], [s for _, s, _ in ROWS], atol=1e-4)
    assert back.to_csv() == history().to_csv()
    assert History.from_csv(History().to_csv()).rows == []


@pytest.mark.parametrize(
    "text",
    [
        "iteration,seconds\n1,2\n",
        HEADER + "1\n",
        HEADER + "one,2,3,4\n",
        HEADER + "1,2,lost,4\n",
        "a,b\n1,2\n",
        pytest.param(f"{HEADER}{'1' * 200_000},2,3,4\n"),
    ],
)
def test_other_tables_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        History.from_csv(text)


def test_array_round_trip():
    array = history().to_array()
    assert array.shape == (4, 3)
    assert History.from_array(array).rows == ROWS
    assert History().to_array().shape == (0, 3)
    assert History.from_array(History().to_array()).rows == []


def test_losses():
    np.testing.assert_array_equal(history().losses, [row[2] for row in ROWS])
    assert history().to_csv().count("\n") == 5
    assert History().to_csv() == ",".join(COLUMNS) + "\n"


def test_errors_are_a_column_where_they_were_measured():
    measured = history()
    measured.errors = {2: 0.1 + 0.2, 4: 1e-17}
    rows = list(csv.DictReader(measured.to_csv().splitlines()))
    assert [r["l2re"] for r in rows] == ["", repr(0.1 + 0.2), "", "1e-17"]
    back = History.from_csv(measured.to_csv())
    assert back.errors == measured.errors
    assert History.from_array(measured.to_array(), measured.errors_to_array()) == measured
    assert [row[::2] for row in measured.measured] == [[2, 0.1 + 0.2], [4, 1e-17]]


def test_tables_without_errors_are_read():
    old = HEADER + "1,0.5,2.0,2.0\n"
    assert History.from_csv(old) == History([(1, 0.5, 2.0)])


def test_a_line_that_was_cut_off_is_left_out():
    text = history().to_csv()
    for length in range(len(HEADER) + 5, len(text)):
        assert len(History.from_csv(text[:length]).rows) == text[:length].count("\n") - 1
