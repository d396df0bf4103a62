"""What runs on a node: one job, with signs of life, checkpoints when its time is up, and one outcome."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..checkpoint import Checkpoint, Interrupted
from ..errors import PcpinnError
from ..lock import try_lock
from ..progress import Progress
from .code import code_of_this_process
from .job import Job
from .state import StateFolder

_SUPERSEDED = 3  # exit code
_REACH = 3  # how many beats a worker waits for an older one to notice that it is superseded


@dataclass
class Worker:
    """Carries out one attempt of a job. submitit pickles it, calls it, and at a time-out asks for its `checkpoint`.

    Attributes:
        folder: what controller and workers share.
        job: the work.
        attempt: its number.
        code: of the controller; a worker with other code refuses.
        beat: seconds between two signs.
    """

    folder: str
    job: Job
    attempt: int
    code: str
    beat: float
    _news: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> None:
        """Run the job; never raises for a failure of the job, which is an outcome."""
        state = StateFolder(Path(self.folder))
        if state.cancelled or state.attempt(self.job.key) > self.attempt:
            return
        if self.code != code_of_this_process():
            self._say(state, "refused", why=f"it has pcpinn {code_of_this_process()}, the controller {self.code}")
            return
        requeue = _stop_at_signals()
        with self._claimed(state), self._living(state):
            try:
                data, failed = self._run()
            except Interrupted:
                stopped = True
            else:
                stopped = False
                state.write_outcome(self.job.key, self.attempt, data, failed)
        self._say(state, "stopped" if stopped else "ended")
        if stopped:
            requeue()

    def _run(self) -> tuple[dict[str, Any] | None, str]:
        """Data, or the reason why there are none."""
        try:
            return self.job.run(_News(self._news)), ""
        except PcpinnError as error:
            return None, error.problem
        except Exception as error:
            traceback.print_exc()  # into its log
            return None, f"{type(error).__name__}: {error}"

    def checkpoint(self) -> Any:
        """For submitit: what to do when the job comes back from the queue."""
        import submitit

        return submitit.helpers.DelayedSubmission(Worker(self.folder, self.job, self.attempt, self.code, self.beat))

    def _say(self, state: StateFolder, what: str, beat: int = -1, **more: Any) -> None:
        about = {"attempt": self.attempt, "state": what, "beat": beat, "host": socket.gethostname(), "pid": os.getpid()}
        job = os.environ.get("SLURM_JOB_ID", "")
        array, index = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
        about |= {"job": f"{array}_{index}" if array else job, "clock": time.time()}
        with contextlib.suppress(PcpinnError):  # a file system that stumbles; the next sign may get through
            state.write_sign(self.job.key, {**about, **self._news, **more})

    @contextlib.contextmanager
    def _living(self, state: StateFolder) -> Iterator[None]:
        """Signs in a thread of their own; it ends the process if a later attempt has been made, or all is cancelled."""
        ended = threading.Event()

        def live() -> None:
            beat = 0
            while True:
                self._say(state, "running", beat)
                if ended.wait(self.beat):
                    return
                beat += 1
                if state.attempt(self.job.key) > self.attempt or state.cancelled:
                    os._exit(_SUPERSEDED)

        thread = threading.Thread(target=live, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    @contextlib.contextmanager
    def _claimed(self, state: StateFolder) -> Iterator[None]:
        """Wait until an older worker of the same job has ended: it looks for later attempts at every beat."""
        with open(state.path / "attempts" / f"{self.job.key}.lock", "w", encoding="utf-8") as file:
            until, last = time.monotonic() + _REACH * self.beat, state.sign(self.job.key)
            while time.monotonic() < until:
                elsewhere = last.get("state") == "running" and last.get("host") != socket.gethostname()
                if try_lock(file.fileno()) and not elsewhere:  # some shared file systems lock on one machine only
                    break
                time.sleep(self.beat / 4)
            yield


class _News(Progress):
    """Keeps the latest of a job's progress for its next sign."""

    def __init__(self, news: dict[str, Any]) -> None:
        self._news = news

    def stage(self, name: str, total: int | None = None) -> None:
        """A new stage."""
        self._news.update(stage=name, total=total, iteration=0, loss=None)

    def update(self, iteration: int, loss: float) -> None:
        """An iteration."""
        self._news.update(iteration=iteration, loss=loss if loss == loss and abs(loss) < float("inf") else None)

    def count(self, name: str, done: int, total: int) -> None:
        """A step of a stage without a loss."""
        self._news.update(stage=name, total=total, iteration=done, loss=None)

    def note(self, text: str) -> None:
        """Into the log of the job."""
        print(text, flush=True)


def _stop_at_signals() -> Callable[[], None]:
    """At SIGUSR2 (time is up) and SIGTERM (preempted) the work writes a checkpoint and stops; returns how to be requeued.

    After a SIGTERM it is for Slurm, or else for the controller, to start the job again.
    """
    requeues: Any = signal.getsignal(signal.SIGUSR2)  # submitit's, which puts the job back into the queue
    received: list[int] = []

    def stop(signum: int, frame: Any) -> None:
        received.append(signum)
        Checkpoint.stop_at_next()

    for one in (signal.SIGUSR2, signal.SIGTERM):
        signal.signal(one, stop)

    def requeue() -> None:
        if signal.SIGUSR2 in received and callable(requeues):
            requeues(signal.SIGUSR2, None)

    return requeue
