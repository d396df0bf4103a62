"""Runs of milliseconds, for the tests of benchmarks."""

from pcpinn.bench import BenchFolder, Request, make_plan, run_plan

SETTINGS = {
    "cells": "6",
    "degree": "2",
    "width": "4",
    "depth": "1",
    "feature_count": "1",
    "iterations": "3",
    "certify": "false",
}
OPTIONS = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]


def request(**more):
    """poisson1d, two seeds."""
    changes = {**SETTINGS, **more.pop("changes", {})}
    defaults = {"problems": ("poisson1d",), "presets": ("quick",), "trials": 2, "changes": tuple(changes.items())}
    return Request(**{**defaults, **more})


def plan(**more):
    return make_plan(request(**more))


def run(folder, wanted=None, **options):
    """Rows of a plan, run on the CPU."""
    return run_plan(BenchFolder(folder), wanted or plan(), device="cpu", **options)


def errors(rows):
    """What must not depend on how often the work was interrupted."""
    return {key: (row.status, row.l2re, row.l1re, row.mse, row.iterations) for key, row in rows.items()}
