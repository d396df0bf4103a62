"""What the stages of a run take, as far as their sizes tell: seconds of one core, bytes.

Fitted to runs on a CPU (`benchmarks/costs.py`, whose CSV has figures and predictions), within a factor of three there. A GPU is
faster; what is refused or left out for these figures is so with a margin.
"""

from __future__ import annotations

PROGRAM = 0.4  # GiB of the program and its libraries, once it works
MARGIN = 3.0  # a stage is refused for a time that is so many times the predicted one
_STARTING, _BEGINNING = 0.15, 0.1  # seconds of any set-up, and of any estimate
# seconds of a stage: factor and exponent of the degrees of freedom, by dimension
_COMPLETE = {1: (8e-6, 1.0), 2: (8.5e-7, 1.35), 3: (1.5e-7, 1.7)}
_INCOMPLETE = {1: (1.2e-5, 1.0), 2: (2e-6, 1.35), 3: (2.4e-5, 1.25)}
_JUDGING = {1: (5e-6, 1.0), 2: (1.15e-6, 1.35), 3: (1e-5, 1.3)}
_BYTES = {1: 2_000.0, 2: 5_500.0, 3: 16_000.0}  # per degree of freedom: matrix, P, copies while they are made
_ENTRIES = {1: (40.0, 0.0), 2: (11.0, 0.4), 3: (3.0, 0.6)}  # of complete factors per degree of freedom
_FLOPS = 2.7e10  # per second
_PASSES = 200.0  # operations per degree of freedom and weight, beside those of Gauss-Newton's matrix
_ROWS = 4.0  # of Gauss-Newton's matrix per weight, at most


def setup_seconds(dofs: float, dimension: int, complete: bool = False) -> float:
    """Of assembly and P: factors that are complete (LU), or incomplete ones whose drop tolerance is looked for."""
    return _STARTING + _power((_COMPLETE if complete else _INCOMPLETE)[dimension], dofs)


def judging_seconds(dofs: float, dimension: int) -> float:
    """Of an error estimate on a finer discretisation of this size."""
    return _BEGINNING + _power(_JUDGING[dimension], dofs)


def iteration_seconds(dofs: float, weights: float, second_order: bool) -> float:
    """Of a training; `second_order` by Gauss-Newton."""
    operations = _PASSES * dofs * weights
    if second_order:
        rows = min(dofs, _ROWS * weights)
        inner = min(rows, weights)
        operations += 2 * rows * weights * inner + inner**3 / 3
    return operations / _FLOPS


def system_bytes(dofs: float, dimension: int) -> float:
    """Of a matrix with its P."""
    return _BYTES[dimension] * dofs


def factor_bytes(dofs: float, dimension: int, is_complex: bool) -> float:
    """Of complete factors on the host: values, and where they stand."""
    return (20 if is_complex else 12) * dofs * _power(_ENTRIES[dimension], dofs)


def _power(of: tuple[float, float], dofs: float) -> float:
    factor, exponent = of
    return factor * dofs**exponent
