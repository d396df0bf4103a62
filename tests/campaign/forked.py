"""A trial in a fork of a process that has imported everything: its time, memory, exceptions and deeds are watched."""

import os
import platform
import resource
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

SECONDS = 30.0  # a trial that takes longer hangs
MEMORY = 4 << 30  # bytes of data that a trial may ask for
FORBIDDEN = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect")
FINE = (0, 2, 3)  # exit codes: done, refused, accuracy not reached
_HARMLESS = ("/dev/", "/proc/")
platform.processor()  # asks uname once, which a trial must not do on its own


@dataclass(frozen=True)
class Outcome:
    """How a trial ended.

    Attributes:
        failure: what went wrong; empty if nothing did.
        seconds, megabytes: what it took.
        code: exit code of the process, negative for a signal.
    """

    failure: str
    seconds: float
    megabytes: float
    code: int


def in_fork(work, folder, allowed=(), seconds=SECONDS, memory=MEMORY, kill_after=None, prepare=None):
    """Run work() in a fork that may write into a folder alone.

    Exceptions other than those allowed are failures, exit codes of the command line are none. With `kill_after`, the fork is
    killed that many seconds after its start, if it has not ended by then. `prepare()` runs first in the fork; where there is
    one, the fork may also kill itself.
    """
    report = folder / ".report"
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        _work(work, folder, report, allowed, memory, prepare)
    killed = prepare is not None
    while True:
        done, status, used = os.wait4(child, os.WNOHANG)
        now = time.monotonic() - start
        if done:
            break
        if kill_after is not None and now >= kill_after:
            os.kill(child, signal.SIGKILL)
            killed, kill_after = True, None
        elif now > seconds:
            os.kill(child, signal.SIGKILL)
            os.wait4(child, 0)
            return Outcome(f"hangs: not done after {seconds:g} s", now, 0.0, -9)
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(status)
    failure = report.read_text(errors="replace") if report.exists() else ""
    report.unlink(missing_ok=True)
    megabytes = used.ru_maxrss / 1024
    if not failure and code not in FINE and not (killed and code == -signal.SIGKILL):
        failure = f"ended with {code}"
    if not failure and megabytes > memory / 2**20:
        failure = f"took {megabytes:.0f} MB"
    return Outcome(failure, now, megabytes, code)


def _work(work, folder, report, allowed, memory, prepare):
    """In the child; never returns."""
    deeds = []
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        sys.stdout, sys.stderr = open(os.devnull, "w"), open(os.devnull, "w")  # noqa: SIM115
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(folder)
        tempfile.tempdir = str(folder)
        _watch(folder, deeds)
        if prepare is not None:
            prepare()
        code = 0
        try:
            work()
        except SystemExit as stop:
            code = stop.code or 0
            if code not in FINE:
                deeds.append(f"exit code {code}")
        except allowed:
            code = 2
        except BaseException:
            deeds.append(traceback.format_exc(limit=-12))
        if deeds:
            report.write_text("\n".join(deeds))
    finally:
        os._exit(code if isinstance(code, int) else 1)


def _watch(folder, deeds):
    """Note what no input may make the library do: run code, or write elsewhere."""
    inside, report = str(Path(folder).resolve()), str(folder / ".report")

    def hook(event, arguments):
        if event in FORBIDDEN:
            deeds.append(f"{event} {arguments[:2]!r}")
        elif event == "open" and isinstance(arguments[0], str) and _writes(arguments[1], arguments[2]):
            path = os.path.realpath(arguments[0])
            if not path.startswith((inside, *_HARMLESS)) and path != report:
                deeds.append(f"opens {path} for writing")

    sys.addaudithook(hook)


def _writes(mode, flags):
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR))
