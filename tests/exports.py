"""Files as COMSOL exports them, made up."""

import numpy as np

from pcpinn.catalog.pinnacle import FILES


def export(columns, data):
    """The text of an export."""
    head = [
        "% Model:              made_up.mph",
        "% Version:            COMSOL 6.0.0.354",
        f"% Nodes:              {len(data)}",
        "% Description:        因变量 u",
        "% " + "".join(f"{name:<25}" for name in columns),
    ]
    return (
        "\n".join(head + ["".join(f"{v!r:<25}" for v in row) for row in np.asarray(data, dtype=float).tolist()]) + "\n"
    )


def write_export(folder, problem, columns, data):
    """Put an export where the data of a problem are looked for."""
    path = folder / f"{FILES[problem].name}.dat"
    path.write_text(export(columns, data), encoding="utf-8")
    return path
