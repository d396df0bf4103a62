"""What Krylov steps with the shared P make of a family's network, and of zero: errors against discrete solutions, and CPU time.

    python benchmarks/family_corrections.py [NAME ...] > docs/benchmarks/family-corrections.csv

Networks of the preset `quick`; errors are means over 16 unseen parameters; figures are in docs/families.md and
docs/decisions/063-corrections-beside-networks.md.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings

import torch

from pcpinn.catalog.family_task import family_task
from pcpinn.family.anchors import Anchors
from pcpinn.family.direct import direct_solutions
from pcpinn.family.discretise import make_system
from pcpinn.family.loss import corrected
from pcpinn.family.nodal import NodalNetwork
from pcpinn.solve.build import make_preconditioner

QUERIES, STEPS = 16, (0, 1, 2, 3, 4, 6, 8)
NAMES = ("darcy", "diffusion-4", "diffusion-16")
FIELDS = ("family", "dofs", "start", "steps", "mean", "worst", "cpu_ms")


def rows(name: str) -> list[dict[str, object]]:
    """By start and number of steps."""
    task = family_task(name, "quick", {"device": "cpu"})
    surrogate, family = task.run(), task.family
    system = make_system(family, surrogate.mesh, task.settings, torch.device("cpu"))
    z = family.scaled(family.sample(QUERIES, seed=99))
    exact = torch.from_numpy(direct_solutions(system, family.value(z)))
    network = NodalNetwork(surrogate.network, system.nodes).values(z)
    result = []
    for start, v in (("network", network), ("zero", torch.zeros_like(network))):
        for steps in STEPS:
            P = Anchors(system, lambda form: make_preconditioner(task.settings, form), max(steps, 1))
            P.build(surrogate.anchors)
            P.find_symmetry()
            began = time.process_time()
            u = (
                v
                if steps == 0
                else torch.cat([corrected(system, P, v[k : k + 1], z[k : k + 1]).whole for k in range(QUERIES)])
            )
            ms = 1e3 * (time.process_time() - began) / QUERIES
            e = system.relative(u - exact, exact)
            values = (name, system.size, start, steps, f"{float(e.mean()):.3g}", f"{float(e.max()):.3g}", f"{ms:.3g}")
            result.append(dict(zip(FIELDS, values, strict=True)))
    return result


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    writer = csv.DictWriter(sys.stdout, FIELDS)
    writer.writeheader()
    for name in sys.argv[1:] or NAMES:
        writer.writerows(rows(name))
        sys.stdout.flush()
