"""What a campaign has tried so far: one row per trial in a file that only grows, totals, reproductions of failures."""

import csv
from pathlib import Path

FIELDS = ("fuzzer", "seed", "counts", "outcome", "seconds", "megabytes", "what")
GOALS = {"kills": 1000, "mutated inputs": 5000, "wrong or hard problems": 200}


class Ledger:
    """Rows of trials in FOLDER/trials.csv."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "trials.csv"
        self.rows = list(csv.DictReader(self.path.open())) if self.path.exists() else []

    def next_seed(self, fuzzer):
        """The first that has not been tried."""
        return max((int(r["seed"]) + 1 for r in self.rows if r["fuzzer"] == fuzzer), default=0)

    def add(self, **row):
        """One more, on disk at once."""
        row = {k: str(row.get(k, "")) for k in FIELDS}
        self.rows.append(row)
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(row)

    @property
    def last(self):
        """The last row of each trial: one that failed may have been tried again since."""
        return list({(r["fuzzer"], r["seed"]): r for r in self.rows}.values())

    @property
    def failures(self):
        """Rows of trials that still fail, as far as is known."""
        return [r for r in self.last if r["outcome"] != "ok"]

    def totals(self, kinds):
        """One row per fuzzer, and one per goal; `kinds` says which goal each fuzzer works for."""
        result = []
        for fuzzer, kind in kinds.items():
            own = [r for r in self.last if r["fuzzer"] == fuzzer]
            result.append(self._total(f"{fuzzer} ({kind})", own, ""))
        for kind, goal in GOALS.items():
            result.append(self._total(kind, [r for r in self.last if kinds.get(r["fuzzer"]) == kind], goal))
        return result

    def _total(self, name, rows, goal):
        largest = max((float(r["megabytes"]) for r in rows), default=0.0)
        slowest = max((float(r["seconds"]) for r in rows), default=0.0)
        trials = {(r["fuzzer"], r["seed"]) for r in rows}
        found = len({(r["fuzzer"], r["seed"]) for r in self.rows if r["outcome"] != "ok"} & trials)
        failed = sum(r["outcome"] != "ok" for r in rows)
        count = sum(int(r["counts"]) for r in rows)
        numbers = (len(rows), count, goal, found, failed, f"{slowest:.1f}", f"{largest:.0f}")
        return dict(
            zip(
                ("what", "trials", "count", "goal", "found", "failures", "slowest_s", "largest_MB"),
                (name, *numbers),
                strict=True,
            )
        )


def show(totals):
    """As a table on standard output."""
    print(
        f"{'':34s}{'trials':>8s}{'count':>8s}{'goal':>8s}{'found':>7s}{'failing':>9s}{'slowest':>10s}{'largest':>10s}"
    )
    for t in totals:
        slow, large = f"{t['slowest_s']} s", f"{t['largest_MB']} MB"
        print(
            f"{t['what']:34s}{t['trials']:8d}{t['count']:8d}{t['goal']!s:>8s}{t['found']:7d}{t['failures']:9d}{slow:>10s}"
            f"{large:>10s}"
        )
