"""Interrupts wait for the end of a step, once."""

import signal

import pytest

from pcpinn.interrupt import Terminated, exit_code, interrupts_wait, raise_terminated


@pytest.fixture(autouse=True)
def handlers():
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGTERM, raise_terminated)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGTERM, before[1])


def work(numbers, done, wanted=True):
    """Steps during each of which a signal comes."""
    with interrupts_wait(wanted) as waiting:
        for number in numbers:
            signal.raise_signal(number)
            done.append(waiting.asked)


@pytest.mark.parametrize(
    ("number", "kind", "code"), [(signal.SIGINT, KeyboardInterrupt, 130), (signal.SIGTERM, Terminated, 143)]
)
def test_the_first_waits(number, kind, code):
    done = []
    with pytest.raises(kind) as stop:
        work([number], done)
    assert done == [number]
    assert exit_code(stop.value) == code


def test_the_second_does_not():
    done = []
    with pytest.raises(KeyboardInterrupt):
        work([signal.SIGINT] * 3, done)
    assert done == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_nothing_is_kept_none_waits():
    done = []
    with pytest.raises(KeyboardInterrupt):
        work([signal.SIGINT], done, wanted=False)
    assert not done


def test_signals_that_are_ignored_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    done = []
    work([signal.SIGINT], done)
    assert done == [None]
