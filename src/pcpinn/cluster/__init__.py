"""Jobs on a Slurm cluster, through submitit: arrays, time-outs, lost workers. A folder that all nodes see is the only state."""

from .controller import Cancelled, Listener, cancel, carry_out, require_quiet
from .job import Job, Outcome
from .slurm import Slurm
from .state import StateFolder

__all__ = [
    "Cancelled",
    "Job",
    "Listener",
    "Outcome",
    "Slurm",
    "StateFolder",
    "cancel",
    "carry_out",
    "require_quiet",
]
