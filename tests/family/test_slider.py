"""The page with sliders holds the network: its script gives the network's own values."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import torch
from families import QUICK, line_family

import pcpinn as pc
from pcpinn.network.recipe import Place

_NODE = shutil.which("node")


def surrogate(network):
    """A branch that solves is trained by another loss: here it has its first weights."""
    family, solves = line_family(), isinstance(network, pc.TrunkSolve)
    made = pc.solve(
        family,
        accuracy=0.2,
        iterations=12,
        network=pc.MLP(width=6, depth=2, features="none") if solves else network,
        **{k: QUICK[k] for k in ("cells", "degree", "samples", "validation", "device")},
    )
    if solves:
        made.network = network.build_family(Place((0.0,), (1.0,), 1), 2, 3, torch.float64)
    return made


@pytest.fixture(
    scope="module",
    params=[
        pc.MLP(width=6, depth=2, features="none"),
        pc.TrunkBranch(width=6, depth=2, branch_width=5, branch_depth=1, features="none"),
        pc.TrunkBranch(width=6, depth=1, branch_depth=0, features="none"),
        pc.TrunkBranch(width=6, depth=1, branch_width=5, branch_depth=1, features="none", sized=True),
        pc.TrunkSolve(width=6, depth=1, places=5, place_rows=2, coordinates=4, features="none"),
    ],
    ids=["one", "branch", "linear", "sized", "solve"],
)
def written(request, tmp_path_factory):
    made = surrogate(request.param)
    return made, made.slider(tmp_path_factory.mktemp("page") / "page.html")


def test_self_contained(written):
    _, path = written
    text = path.read_text()
    assert "@DATA@" not in text
    assert not re.search(r"(src|href)\s*=|https?://", text)
    data = json.loads(re.search(r"const data = (.*);\n", text).group(1))
    assert data["labels"] == ["a", "k"]
    assert data["stops"][1][0] == pytest.approx(0.1)
    assert data["stops"][1][-1] == pytest.approx(10)
    assert data["stops"][1][100] == pytest.approx(1)  # a scale of magnitudes


@pytest.mark.skipif(_NODE is None, reason="needs node")
def test_the_script_gives_the_networks_values(written, tmp_path):
    made, path = written
    script = re.search(r"<script>(.*)</script>", path.read_text(), flags=re.DOTALL).group(1)
    maths = script[: script.index("const stops")]
    z = [0.3, -0.8]
    (tmp_path / "run.js").write_text(f"{maths}\nconsole.log(JSON.stringify(Array.from(evaluate({z}, 0))));")
    out = subprocess.run([_NODE, str(tmp_path / "run.js")], capture_output=True, text=True, check=True).stdout
    x = np.linspace(0, 1, 400)[:, None]
    mu = made.parameters.value(torch.tensor(z, dtype=torch.float64)).numpy()
    assert np.allclose(json.loads(out), made(x, mu), atol=1e-5)


def test_refused(written, tmp_path):
    made, _ = written
    many = pc.Family(lambda c: pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad), c=pc.Range(0, 1, count=30))
    from pcpinn.family.slider import write_slider

    with pytest.raises(pc.PcpinnError, match="30 sliders"):
        write_slider(tmp_path / "a.html", made.network, many, made.mesh, made.names, "", "")
