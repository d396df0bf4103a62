"""Properties that hold for whatever one writes: settings, shapes, conditions, files. Refusals have a remedy."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pcpinn as pc
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError
from pcpinn.files import read_tensors
from pcpinn.invert.observations import read_observations
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.read import read_mesh
from pcpinn.solution.folder import read_run
from pcpinn.solve.method import METHODS
from pcpinn.solve.settings import Settings, resolve

usual = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
numbers = st.floats(allow_nan=True, allow_infinity=True)
sizes = st.floats(-3, 3)
plain = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), numbers, st.text(max_size=20))
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
)
KEYS = sorted(
    {"preconditioner", "optimiser", "network", "mesh", "loss", "time", "accuracy", "nonsense"}
    | {
        "width",
        "depth",
        "feature_count",
        "features",
        "activation",
        "cells",
        "degree",
        "size",
        "quadrature",
        "iterations",
        "patience",
    }
    | {
        "damping",
        "seed",
        "device",
        "precision",
        "time_limit",
        "checkpoint_every",
        "certify",
        "drop",
        "refinement",
        "kinks",
    }
)


def refused_or(work):
    """What work() gives; None if it is refused, with a remedy."""
    try:
        return work()
    except PcpinnError as error:
        if not (error.problem and error.remedy):
            raise
        return None


@usual
@given(st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=3))
def test_settings_are_refused_or_come_back_from_plain_data(chosen):
    found = refused_or(lambda: resolve(METHODS.find("pcpinn"), False, chosen))
    if found is not None:
        again = Settings.from_dict(json.loads(json.dumps(found.to_dict())))
        assert again.to_dict() == found.to_dict()


@usual
@given(
    st.sampled_from(("interval", "rectangle", "disk", "ellipse", "box", "ball")),
    st.lists(numbers, min_size=6, max_size=6),
)
def test_shapes_of_any_numbers_are_refused_or_have_bounds(kind, n):
    make = {
        "interval": lambda: pc.Interval(n[0], n[1]),
        "rectangle": lambda: pc.Rectangle(n[:2], n[2:4]),
        "disk": lambda: pc.Disk(n[:2], n[2]),
        "ellipse": lambda: pc.Ellipse(n[:2], n[2:4]),
        "box": lambda: pc.Box(n[:3], n[3:]),
        "ball": lambda: pc.Ball(n[:3], n[3]),
    }[kind]
    shape = refused_or(make)
    if shape is not None:
        lower, upper = shape.bounds
        assert np.isfinite([lower, upper]).all()
        assert (lower < upper).all()


@usual
@given(st.tuples(sizes, sizes), st.floats(0.1, 2), st.tuples(sizes, sizes), st.floats(0.1, 2), st.integers(0, 10**6))
def test_set_operations_are_those_of_points(centre, radius, corner, side, seed):
    a, b = pc.Disk(centre, radius), pc.Rectangle(corner, (corner[0] + side, corner[1] + side))
    points = np.random.default_rng(seed).uniform(-6, 6, (200, 2))
    in_a, in_b = a.contains(points), b.contains(points)
    for shape, inside in ((lambda: a | b, in_a | in_b), (lambda: a & b, in_a & in_b), (lambda: a - b, in_a & ~in_b)):
        found = refused_or(shape)  # an empty shape, for one
        if found is not None:
            np.testing.assert_array_equal(found.contains(points), inside)


conditions = st.one_of(
    st.builds(pc.Dirichlet, values),
    st.builds(pc.Neumann, values),
    st.builds(pc.Robin, values, values),
)


@usual
@pytest.mark.filterwarnings("ignore")
@given(conditions, st.one_of(plain, st.complex_numbers()))
def test_conditions_are_refused_or_give_finite_equations(condition, source):
    def assembled():
        problem = pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: u.grad,
            source=lambda x, u: source,
            boundary={"left": pc.Dirichlet(0.0), "right": condition},
        )
        return linear_system(FiniteElements(problem, generate_mesh(pc.Interval(0, 1), cells=(3,)), 1))

    system = refused_or(assembled)
    if system is not None:
        assert np.isfinite(system.A.data).all()
        assert np.isfinite(system.b).all()


LINE = pc.Problem(
    pc.Interval(0, 1),
    flux=lambda x, u: u.grad,
    source=lambda x, u: -1.0,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
)
cells = st.one_of(
    st.sampled_from(("0.5", "1", "nan", "inf", "", "x", "u", "noise", '"', "1e400", "-0.0")), st.text(max_size=5)
)
tables = st.lists(st.lists(cells, min_size=1, max_size=4).map(",".join), max_size=5).map("\n".join)


@usual
@given(st.one_of(tables, tables.map(lambda t: "x,u,noise\n" + t), st.binary(max_size=60)))
def test_tables_are_refused_or_hold_finite_numbers(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    for found in refused_or(lambda: read_observations(path, LINE, False)) or ():
        assert np.isfinite(found.points).all()
        assert np.isfinite(found.values).all()


@usual
@given(
    st.binary(max_size=300),
    st.sampled_from((".msh", ".vtu", ".xdmf")),
    st.sampled_from((b"", b"$MeshFormat\n2.2 0 8\n", b"<VTKFile>")),
)
def test_files_of_any_bytes_are_refused(tmp_path, content, suffix, head):
    mesh, tensors = tmp_path / f"m{suffix}", tmp_path / "t.safetensors"
    mesh.write_bytes(head + content)
    tensors.write_bytes(content)
    assert refused_or(lambda: read_mesh(mesh)) is None
    refused_or(lambda: read_tensors(tensors))


@usual
@given(
    st.one_of(
        st.dictionaries(
            st.sampled_from(("format", "kind", "problem", "settings", "method", "fields")), values, max_size=5
        ),
        values,
    )
)
def test_records_of_any_json_are_refused_or_read(tmp_path, document):
    (tmp_path / "run.json").write_text(json.dumps(document))
    found = refused_or(lambda: read_run(tmp_path))
    assert found is None or isinstance(found, dict)
