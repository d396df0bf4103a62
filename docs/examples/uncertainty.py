"""How uncertain is the temperature at a place, where heater and conductivity are? 100 000 queries of the surrogate."""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from common import family
from common import surrogate as trained

PLACE = np.array([[0.7, 0.4]])


def temperatures(surrogate, count=100_000, seed=1):
    """(count,) temperatures at one place for parameters of the family's distribution."""
    return surrogate(PLACE, family.sample(count, seed=seed).numpy())


def main(time_limit=40.0, count=100_000, picture="docs/images/family-uncertainty.png"):
    """Returns mean and standard deviation, and the seconds of all queries."""
    surrogate = trained(time_limit)
    started = time.perf_counter()
    u = temperatures(surrogate, count)
    seconds = time.perf_counter() - started
    low, high = np.quantile(u, (0.025, 0.975))
    print(f"{count} queries in {seconds:.2f} s: {u.mean():.4f} +- {u.std():.4f}, 95 % between {low:.4f} and {high:.4f}")
    print(f"relative error of a query, estimated: {surrogate.verdict.estimate:.1e} for 95 % of the parameters")
    if picture:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(5, 3.5))
        axes.hist(u, bins=120, density=True)
        for value in (low, high):
            axes.axvline(value, color="k", linestyle="--")
        axes.set(xlabel="temperature at (0.7, 0.4)", ylabel="density", title=f"{count} queries in {seconds:.1f} s")
        figure.savefig(picture, dpi=110, bbox_inches="tight")
        plt.close(figure)
    return u.mean(), u.std(), seconds


if __name__ == "__main__":
    main()
