"""Jobs of no time, and a scheduler that does with them what a test wants."""

import signal
from dataclasses import dataclass

import pytest

from pcpinn.cluster import Listener, Slurm, StateFolder, scheduler
from pcpinn.cluster.scheduler import Queued, Silent

QUICK = Slurm(beat=0.02, ask=0.01, settle=0.03)


@dataclass(frozen=True)
class Toy:
    key: str

    def run(self, progress):
        progress.stage("training", 5)
        progress.update(5, 0.5)
        if self.key == "bad":
            raise ValueError("no good")
        return {"of": self.key}


class Recorder(Listener):
    def __init__(self):
        self.notes, self.started_keys = [], []

    def started(self, key):
        self.started_keys.append(key)
        return super().started(key)

    def note(self, text):
        self.notes.append(text)


class Scheduler:
    """Works jobs off when it is asked for its queue, by `fate(key, attempt)`: run, die, wait, silent."""

    def __init__(self, fate=lambda key, attempt: "run"):
        self.fate, self.jobs, self.sent, self.cancelled, self.ends = fate, {}, [], [], {}

    def submit(self, work, name, log):
        for k, worker in enumerate(work):
            self.sent.append((worker.job.key, worker.attempt))
            self.jobs[name, k] = worker

    def queue(self, prefix):
        for at, worker in list(self.jobs.items()):
            fate = self.fate(worker.job.key, worker.attempt)
            if fate == "silent":
                raise Silent("connection refused")
            if fate == "wait":
                continue
            del self.jobs[at]
            if fate == "run":
                worker()
        return [Queued(f"7_{k}", name, "RUNNING", "node1", "None") for name, k in self.jobs if name.startswith(prefix)]

    def cancel(self, jobs):
        self.cancelled += jobs
        self.jobs.clear()

    def installed(self, patch):
        patch.setattr(Slurm, "check", lambda slurm: None)
        patch.setattr(Slurm, "submit", lambda slurm, work, name, log: self.submit(work, name, log))
        patch.setattr(scheduler, "queue", self.queue)
        patch.setattr(scheduler, "cancel", self.cancel)
        patch.setattr(scheduler, "end_of", lambda job: self.ends)
        return self


@pytest.fixture
def usual_signals():
    """Workers change what signals do."""
    kept = {one: signal.getsignal(one) for one in (signal.SIGUSR2, signal.SIGTERM)}
    yield
    for one, what in kept.items():
        signal.signal(one, what)


def state_in(folder):
    state = StateFolder.of(folder)
    state.make()
    return state
