"""Every numbered statement of the paper has an ID; what can be checked by numbers is, and the checks can fail."""

import numpy as np
import pytest

from pcpinn.reproduce import ITEMS, Choice, Found, Sources, statements
from pcpinn.reproduce.compare import DIFFERS, MATCH, UNTOLD
from pcpinn.reproduce.study_items import accelerated, amplification, improved, mean_eigenvalue, reformulated

# The numbering of the paper: one counter for definitions, theorems, remarks and assumptions of a section, lemmas included.
NUMBERED = (
    "definition-3.1", "remark-3.2", "theorem-3.3", "remark-3.4", "theorem-3.5", "corollary-3.6", "remark-3.7",
    "definition-3.8", "theorem-3.9", "remark-3.10", "assumption-a.1", "assumption-a.2", "assumption-a.3", "remark-a.4",
    "assumption-a.5", "remark-a.6", "proposition-a.7", "theorem-a.8", "theorem-a.9", "theorem-a.10", "lemma-a.11", "lemma-b.1",
)  # fmt: skip


def verdict(name):
    item = ITEMS.find(name)
    assert item.parts(Choice()) == ()
    return item.compare(Found(Choice(), (), Sources.read([]))).verdict


def test_nothing_numbered_is_left_out():
    tables = [f"table-{n}" for n in range(1, 15)]
    figures = [f"figure-{n}{c}" for n, letters in ((1, "ab"), (2, "abc"), (3, "abc"), (4, "abc")) for c in letters]
    algorithms = [f"algorithm-{n}" for n in range(1, 5)]
    assert set(ITEMS.names()) == {*tables, *figures, *algorithms, *NUMBERED}
    assert [name for name in ITEMS.names() if name in NUMBERED] == list(NUMBERED)


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in NUMBERED
        if n[:-1].endswith("a.") or n[-4:] in ("a.10", "a.11") or n in ("definition-3.1", "theorem-3.3")
    ],
)
def test_what_can_be_checked_holds(name):
    expected = {"assumption-a.2": UNTOLD, "assumption-a.5": UNTOLD, "remark-a.6": UNTOLD, "assumption-a.3": DIFFERS}
    assert verdict(name) == expected.get(name, MATCH)


def test_a_wrong_condition_number_differs(monkeypatch):
    right = statements.condition_number

    def wrong(*args, **kwargs):
        found = right(*args, **kwargs)
        return type(found)(**{**vars(found), "norm_f": 1.01 * found.norm_f})

    monkeypatch.setattr(statements, "condition_number", wrong)
    assert verdict("definition-3.1") == DIFFERS


def test_differences_solve_the_cubic_problem():
    """u = 3 sin(pi x), to the order of the differences."""
    u, _ = statements.cubic()
    x = np.linspace(0, 1, len(u) + 2)[1:-1]
    assert np.abs(u - 3 * np.sin(np.pi * x)).max() < 1e-3


def test_remarks_are_judged_by_the_studies():
    rows = [{"condition": c, "error": e, "residual": r} for c, e, r in ((140.0, 0.26, 4e-3), (1.1, 1e-3, 1e-3))]
    assert [judge({"rows": rows})[2] for judge in (amplification, reformulated, improved)] == [True] * 3
    assert [judge({"rows": rows[:1]})[2] for judge in (amplification, reformulated, improved)] == [False] * 3
    kernel = [
        {"loss": n, "rate": r, "largest": r / 4, "balance": 4.0} for n, r in (("none", 3.0), ("preconditioned", 4.0))
    ]
    assert mean_eigenvalue({"rows": kernel})[2]
    assert not accelerated({"rows": kernel})[2]
    kernel[1] |= {"rate": 40.0}
    assert not mean_eigenvalue({"rows": kernel})[2]
    assert accelerated({"rows": kernel})[2]
