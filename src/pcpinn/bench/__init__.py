"""Suites of runs with tables and reports: plan, run and resume, aggregate, compare with the paper."""

from .ablations import ABLATIONS, Ablation
from .cell import Cell
from .folder import BenchFolder
from .plan import Plan, Planned, Request, make_plan
from .prepared_folder import PreparedFolder, prepare_plans
from .results import Row, read_rows
from .runner import run_plan
from .suites import suite, suite_names
from .watch import Watch

__all__ = [
    "ABLATIONS",
    "Ablation",
    "BenchFolder",
    "Cell",
    "Plan",
    "Planned",
    "PreparedFolder",
    "Request",
    "Row",
    "Watch",
    "make_plan",
    "prepare_plans",
    "read_rows",
    "run_plan",
    "suite",
    "suite_names",
]
