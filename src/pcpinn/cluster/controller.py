"""Send jobs to Slurm and watch over them until each has an outcome. It may be killed and started again at any time."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import Any

from ..errors import PcpinnError
from ..progress import Progress
from . import scheduler
from .code import code_of_this_process
from .job import Job, Outcome
from .presence import only_controller
from .queue_of import queue_of
from .scheduler import Queued, Silent
from .slurm import Slurm
from .state import StateFolder
from .worker import Worker

_POLL = 0.5  # seconds between two looks into the folder
_LARGEST = 500  # jobs of an array: Slurm takes 1000 unless told otherwise
_SKEW = 60.0  # seconds by which clocks may differ before it is worth a line


class Listener:
    """Hears of jobs. This one says nothing."""

    def started(self, key: str) -> Progress:
        """A worker has begun; what is returned hears of its progress."""
        return Progress()

    def note(self, text: str) -> None:
        """Something worth a line."""


class Cancelled(KeyboardInterrupt):
    """The jobs were cancelled; what they have done stays."""


def carry_out(
    state: StateFolder, jobs: Sequence[Job], slurm: Slurm, listener: Listener, keep: bool = False
) -> Generator[Outcome]:
    """Outcomes as they come in, one for each job.

    Jobs that an earlier controller sent are not sent again while they wait or run. A worker that ends without an outcome
    is lost, and its job is sent again, at most `slurm.retries` times. With `keep`, outcomes stay in
    the folder for the next call, failures aside.

    Raises:
        PcpinnError: for another controller, workers with other code, a folder that nodes do not see, refused jobs.
        Cancelled: after `cancel`.
    """
    if not jobs:
        return
    slurm.check()
    state.make()
    with only_controller(state.path / "controller.json", slurm.beat) as replaced:
        state.set_cancelled(False)
        watch = _Controller(state, {job.key: job for job in jobs}, slurm, listener)
        watch.begin()
        while watch.open:
            if replaced.is_set():
                raise PcpinnError(f"another controller has taken over {state.path}", "leave it at work")
            for outcome in watch.look():
                yield outcome
                if not keep or outcome.data is None:
                    state.forget(outcome.key)  # whoever asked has it by now
            time.sleep(_POLL)


def cancel(state: StateFolder) -> int:
    """End all jobs of a folder; returns how many were in the queue. What they have done stays.

    Raises:
        PcpinnError: when Slurm does not answer; a controller and workers end all the same.
    """
    state.set_cancelled(True)
    try:
        found = scheduler.queue(state.prefix)
        scheduler.cancel([one.job for one in found])
    except Silent as error:
        raise PcpinnError(
            f"Slurm does not answer: {error}", "workers end at their next sign; try again later"
        ) from error
    return len(found)


def require_quiet(state: StateFolder) -> None:
    """Refuse to work here beside jobs on a cluster.

    Raises:
        PcpinnError: when there are some.
    """
    if not state.exists:
        return
    try:
        found = scheduler.queue(state.prefix)
    except (Silent, PcpinnError):  # a folder that was brought here from a cluster
        return
    if found:
        raise PcpinnError(
            f"{len(found)} jobs of {state.path.parent} are in Slurm's queue", "add --on slurm, or cancel them first"
        )


class _Controller:
    """What is known of the open jobs."""

    def __init__(self, state: StateFolder, jobs: dict[str, Job], slurm: Slurm, listener: Listener) -> None:
        self.state, self.slurm, self.listener = state, slurm, listener
        self.open = jobs
        self._lost: dict[str, int] = {}  # how often
        self._missing: dict[str, float] = {}  # since when the queue lacks it, by our own clock
        self._progress: dict[str, Progress] = {}
        self._stage: dict[str, object] = {}
        self._jobs: dict[str, str] = {}  # IDs in Slurm
        self._asked, self._silent = 0.0, False
        self._told: set[str] = set()
        self._beats: dict[str, object] = {}
        self._clocks: set[str] = set()  # hosts whose clocks were compared with ours

    def begin(self) -> None:
        """Send what nobody has sent; an earlier controller's jobs are taken over, and known by their names."""
        try:
            known = set(queue_of(self.state))
        except Silent as error:
            raise PcpinnError(f"Slurm does not answer: {error}", "try again later; nothing is lost") from error
        known |= {key for key in self.open if self._ended(key) is not None}
        self._submit([key for key in self.open if key not in known])

    def look(self) -> list[Outcome]:
        """What has ended since the last look."""
        if self.state.cancelled:
            self._end_all()
            raise Cancelled
        there = self.state.ended()
        ended = [outcome for key in there & set(self.open) if (outcome := self._ended(key)) is not None]
        now = time.monotonic()
        if self.open and now - self._asked >= self.slurm.ask:
            self._asked = now
            have = {outcome.key for outcome in ended}
            ended += [outcome for outcome in self._compare_with_queue(now) if outcome.key not in have]
        for outcome in ended:
            del self.open[outcome.key]
        return ended

    def _ended(self, key: str) -> Outcome | None:
        found = self.state.outcome(key)
        return None if found is None else Outcome(key, found.get("data"), str(found.get("failed") or ""))

    def _compare_with_queue(self, now: float) -> list[Outcome]:
        try:
            queued = queue_of(self.state)
        except Silent as error:
            if not self._silent:
                self.listener.note(f"Slurm does not answer ({error}): waiting for it")
            self._silent = True
            self._missing.clear()  # what is not known is not lost
            return []
        if self._silent:
            self.listener.note("Slurm answers again")
            self._silent = False
        lost, again = [], []
        for key in list(self.open):
            if key in queued:
                self._missing.pop(key, None)
                self._jobs[key] = queued[key].job
                self._follow(key, queued[key])
            elif now - self._missing.setdefault(key, now) >= self.slurm.settle and self._ended(key) is None:
                del self._missing[key]
                reason, final = self._why(key)
                self._lost[key] = self._lost.get(key, 0) + (not self._has_stopped(key))
                if final or self._lost[key] > self.slurm.retries:
                    lost.append(Outcome(key, None, reason))
                else:
                    self.listener.note(f"{key}: {reason}; sent again")
                    again.append(key)
        self._send_again(again)
        return lost

    def _send_again(self, keys: Sequence[str]) -> None:
        """Where Slurm has fallen silent meanwhile, they count as lost once more, later."""
        try:
            self._submit(keys)
        except PcpinnError:
            try:
                scheduler.queue(self.state.prefix)
            except Silent:
                self._lost |= {key: self._lost[key] - 1 for key in keys}
            else:
                raise

    def _follow(self, key: str, queued: Queued) -> None:
        """Pass on what its worker says."""
        if queued.state == "PENDING" and queued.reason not in ("None", "Resources", "Priority", "JobArrayTaskLimit"):
            self._once(f"jobs wait in the queue: {queued.reason}")
        sign = self.state.sign(key)
        if queued.state != "RUNNING" or sign.get("attempt") != self.state.attempt(key):
            return
        if key not in self._progress:
            self._progress[key] = self.listener.started(key)
        self._compare_clocks(key, sign)
        if sign.get("stage") and sign["stage"] != self._stage.get(key):
            self._stage[key] = sign["stage"]
            self._progress[key].stage(str(sign["stage"]), sign.get("total"))
        if sign.get("loss") is not None:
            self._progress[key].update(int(sign.get("iteration") or 0), float(sign["loss"]))

    def _compare_clocks(self, key: str, sign: dict[str, Any]) -> None:
        """Once per host, by a sign that is new since the last look: an old one would make any clock late."""
        beat, host = (sign.get("pid"), sign.get("beat")), str(sign.get("host"))
        last, self._beats[key] = self._beats.get(key, beat), beat
        if last == beat or host in self._clocks:
            return
        self._clocks.add(host)
        skew = float(sign.get("clock") or 0) - time.time()
        if abs(skew) > _SKEW:
            direction = "ahead of" if skew > 0 else "behind"
            self.listener.note(f"the clock of {host} is {abs(skew):.0f} s {direction} ours: dates in rows are its own")

    def _why(self, key: str) -> tuple[str, bool]:
        """Why a job has left the queue without an outcome, and whether another attempt is pointless.

        Raises:
            PcpinnError: where the reason concerns all jobs.
        """
        sign, attempt = self.state.sign(key), self.state.attempt(key)
        seen = sign.get("attempt") == attempt
        if seen and sign.get("state") == "refused":
            self._end_all()
            raise PcpinnError(
                f"the worker on {sign.get('host')} refuses: {sign.get('why')}",
                "install the same package on all nodes; nothing is lost, the same command goes on",
            )
        end = scheduler.end_of(self._jobs[key]) if key in self._jobs else {}
        where = sign.get("host") if seen else end.get("NodeList") or "its node"
        how = end.get("JobState", "")
        if how == "CANCELLED":
            return "its job was cancelled in Slurm", True
        if not seen and self._lost.get(key, 0) >= 1 and not self.state.was_seen:
            self._end_all()
            raise PcpinnError(
                f"jobs end on {where} without a sign in {self.state.path}",
                "is the folder on a file system that all nodes share? can they run this Python? see log/ there",
            )
        if self._has_stopped(key):
            return f"it was stopped on {where} after a checkpoint", False
        words = {
            "TIMEOUT": f"reached no checkpoint within --time {self.slurm.minutes}",
            "OUT_OF_MEMORY": "ran out of memory",
        }
        what = words.get(how, f"was lost{f' ({how})' if how not in ('', 'COMPLETED', 'FAILED') else ''}")
        return f"its worker on {where} {what}" + ("" if seen else " before it began"), False

    def _has_stopped(self, key: str) -> bool:
        """Whether its worker was told to end and wrote a checkpoint first: the work gets on, and nothing was lost."""
        sign = self.state.sign(key)
        return sign.get("attempt") == self.state.attempt(key) and sign.get("state") == "stopped"

    def _submit(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), _LARGEST):
            self._submit_array(keys[start : start + _LARGEST])

    def _submit_array(self, keys: Sequence[str]) -> None:
        name, attempts = self.state.new_array(keys)
        code = code_of_this_process()
        work = [
            Worker(str(self.state.path), self.open[key], attempt, code, self.slurm.beat)
            for key, attempt in zip(keys, attempts, strict=True)
        ]
        for key in keys:
            self._progress.pop(key, None)
            self._jobs.pop(key, None)
        self.slurm.submit(work, name, self.state.log)

    def _end_all(self) -> None:
        try:
            scheduler.cancel([one.job for one in scheduler.queue(self.state.prefix)])
        except Silent as error:
            self.listener.note(f"Slurm does not answer ({error}): its jobs may go on for a while")

    def _once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self.listener.note(text)
