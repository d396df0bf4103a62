"""A command as one of several processes that torchrun has started: they begin alike, end together, and one of them speaks."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist

from ..catalog.prepared import SUFFIX
from ..cluster.code import code_of_this_process
from ..errors import PcpinnError
from ..interrupt import raise_terminated
from ..team import Team, present_team

COMMANDS = ("solve", "resume")
_FROM_TORCHRUN = ("TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
_FINISHED = (None, 0, 1, 3)  # codes of a run that has ended by itself, whatever came of it
_BEAT = 0.5  # seconds between two signs of life
_SILENT = 3.0  # seconds after which a process that gave none is gone
_LOST = ("closed by peer", "reset by peer", "Connection refused", "Broken pipe", "NCCL", "gloo", "Timed out")


@contextlib.contextmanager
def member_of_team(arguments: Sequence[str]) -> Iterator[None]:
    """Around a command: join the other processes, if torchrun has started this one; else nothing.

    All but the first keep silent. A refused input, an error or a death of any of them ends all, with one message.

    Raises:
        PcpinnError: for a command that is not shared, processes that differ, or one that has died.
    """
    if not started_by_torchrun():
        yield
        return
    command = next((a for a in arguments if not a.startswith("-")), "")
    if command not in COMMANDS and int(os.environ["WORLD_SIZE"]) > 1:
        if os.environ["RANK"] != "0":
            sys.exit(2)
        raise PcpinnError(
            f"pcpinn {command} runs in one process",
            f"start it without torchrun; {' and '.join(COMMANDS)} can be shared",
        )
    member = _Member()
    before = signal.signal(signal.SIGTERM, member.told_to_end)
    try:
        member.join(arguments)
        yield
    except SystemExit as end:
        if end.code in _FINISHED and not present_team().alone:
            dist.barrier()  # the first one may still be writing
        raise
    except PcpinnError:
        member.speak_or_leave(2)
        raise
    except Exception as error:
        if isinstance(error, dist.DistError) or any(word in str(error) for word in _LOST):
            lost = member.lost()
            member.speak_or_leave(2)
            raise _died(lost, member.size) from error
        member.speak_or_leave(1)
        raise
    finally:
        member.stop()
        signal.signal(signal.SIGTERM, before)


def started_by_torchrun() -> bool:
    """Whether this process is one of several, or of one, that torchrun has started."""
    return set(_FROM_TORCHRUN) <= set(os.environ)


class _Member:
    """This process among the others: signs of life and failures go by way of torchrun's store."""

    def __init__(self) -> None:
        store, self.rank, self.size = next(dist.rendezvous("env://"))
        self._rendezvous, self._store = store, dist.PrefixStore("pcpinn", store)
        self._end = threading.Event()
        self._messages = os.dup(2)
        self._beats = threading.Thread(target=self._beat, daemon=True)

    def join(self, arguments: Sequence[str]) -> None:
        """Meet the others, and compare what each was started with."""
        self._beats.start()
        local = int(os.environ["LOCAL_RANK"])
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if gpus:
            torch.cuda.set_device(local % gpus)
        backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
        dist.init_process_group(backend, store=self._rendezvous, rank=self.rank, world_size=self.size)
        if self.rank:
            sys.stdout.flush()
            with open(os.devnull, "w", encoding="utf-8") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
        _refuse_differences(present_team(), arguments)

    def speak_or_leave(self, code: int) -> None:
        """Only the first of those that fail goes on to say why; the others end here."""
        if self._store.add("failed", 1) > 1:
            sys.exit(code)
        os.dup2(self._messages, 2)

    def told_to_end(self, number: int, frame: FrameType | None) -> None:
        """Torchrun ends all where one has failed: then that one has said why, or is dead. Else somebody wants an end."""
        if self._store.add("failed", 0):
            sys.exit(2)
        lost = self.lost()
        if lost:
            raise _died(lost, self.size)
        raise_terminated(number, frame)

    def lost(self) -> list[int]:
        """Those that give no sign of life any more."""
        first = self._signs()
        time.sleep(_SILENT)
        second = self._signs()
        return [rank for rank in range(self.size) if rank != self.rank and first[rank] == second[rank]]

    def stop(self) -> None:
        """Leave."""
        self._end.set()
        if dist.is_initialized():
            dist.destroy_process_group()

    def _signs(self) -> list[int]:
        return [self._store.add(f"beat {rank}", 0) for rank in range(self.size)]

    def _beat(self) -> None:
        with contextlib.suppress(RuntimeError):  # the store ends with torchrun
            while not self._end.wait(_BEAT):
                self._store.add(f"beat {self.rank}", 1)


def _died(lost: list[int], size: int) -> PcpinnError:
    who = " and ".join(str(rank) for rank in lost) or "one"
    return PcpinnError(
        f"of {size} processes number {who} has ended without a word: killed, or out of memory"
        if lost
        else f"the connection between {size} processes is lost",
        "the run goes on from its last checkpoint, on any number of processes: torchrun ... -m pcpinn resume DIR",
    )


def _refuse_differences(team: Team, arguments: Sequence[str]) -> None:
    """Refuse processes with other code, other libraries, other arguments or other problem files than the first."""
    own = {"pcpinn": code_of_this_process(), "torch": torch.__version__, "arguments": " ".join(arguments)}
    own |= {f"file {name}": _digest(Path(name)) for name in arguments if name.endswith((".py", SUFFIX))}
    facts = team.facts(own)
    for rank, other in enumerate(facts):
        for key, value in facts[0].items():
            if other.get(key) != value:
                raise PcpinnError(
                    f"process {rank} has another {key} than process 0: {other.get(key)}, not {value}",
                    "give all of them the same installation, command and files (a shared folder, or a container)",
                )


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        return f"unreadable ({error.strerror})"


def speaks() -> bool:
    """Whether this process is the one that prints and writes."""
    return present_team().first


def same_for_all(value: Any) -> Any:
    """What the first process has chosen, such as a free folder."""
    return present_team().lead_object(value)
