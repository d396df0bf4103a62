"""Published data: exports are read, checked against the problem, and refused when damaged or of another problem."""

import numpy as np
import pytest
from exports import export, write_export

from pcpinn.catalog import CATALOG
from pcpinn.catalog.pinnacle import FILES, published_reference, read_export
from pcpinn.errors import PcpinnError
from pcpinn.problem.conditions import Neumann
from pcpinn.problem.field import Field
from pcpinn.problem.problem import Problem
from pcpinn.problem.shapes import Interval, Rectangle

HEAT = ["X", "Y", "u (1) @ t=0", "u (1) @ t=0.1", "u (1) @ t=5"]


def read(tmp_path, text):
    path = tmp_path / "a.dat"
    path.write_text(text, encoding="utf-8") if isinstance(text, str) else path.write_bytes(text)
    return read_export(path)


def test_times(tmp_path):
    table = read(tmp_path, export(HEAT, [[0, 0.5, 1, 2, 3], [1, 0.25, 4, 5, 6]]))
    np.testing.assert_array_equal(table.places, [[0, 0.5], [1, 0.25]])
    np.testing.assert_array_equal(table.times, [0, 0.1, 5])
    np.testing.assert_array_equal(table.fields["u"], [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("unit", ["", " @ Re=100", " (m/s)"])
def test_several_fields_without_times(tmp_path, unit):
    table = read(tmp_path, export(["x", "y", *(f"{f}{unit}" for f in "uvp")], [[0, 0.5, 1, 2, 3]]))
    assert table.times is None
    assert {name: float(v[0, 0]) for name, v in table.fields.items()} == {"u": 1, "v": 2, "p": 3}


def test_one_coordinate_and_two_fields_in_time(tmp_path):
    names = [f"{f} (K) @ t={t}" for t in ("0", "1E-1") for f in "uv"]
    table = read(tmp_path, export(["X", *names], [[0.5, 1, 2, 3, 4]]))
    np.testing.assert_array_equal(table.times, [0, 0.1])
    np.testing.assert_array_equal(table.fields["v"], [[2, 4]])


def test_rows_outside_the_mesh_are_left_out(tmp_path):
    table = read(tmp_path, export(["X", "Y", "u (1)"], [[0, 0, np.nan], [0, 1, 2]]))
    np.testing.assert_array_equal(table.places, [[0, 1]])


BROKEN = {
    "empty": "",
    "no header": "0 0 1\n",
    "header of coordinates only": "% X Y\n0 0\n",
    "header of nothing": "%\n0 0 1\n",
    "no rows": export(["X", "Y", "u (1)"], np.zeros((0, 3))),
    "all nan": export(["X", "Y", "u (1)"], [[0, 0, np.nan]]),
    "ragged": export(["X", "Y", "u (1)"], [[0, 0, 1], [0, 1, 2]]) + "1 1\n",
    "text": export(["X", "Y", "u (1)"], [[0, 0, 1]]) + "1 1 one\n",
    "a time twice": export([*HEAT[:4], HEAT[3]], [[0, 0, 1, 2, 3]]),
    "a field at some times only": export([*HEAT[:4], "v (1) @ t=0"], [[0, 0, 1, 2, 3]]),
    "some without time": export([*HEAT[:4], "u (1)"], [[0, 0, 1, 2, 3]]),
    "a time that is none": export([*HEAT[:4], "u (1) @ t=soon"], [[0, 0, 1, 2, 3]]),
    "a time that is not finite": export([*HEAT[:4], "u (1) @ t=nan"], [[0, 0, 1, 2, 3]]),
    "bytes": b"\xff\xfe\x00%" * 50,
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(tmp_path, case):
    with pytest.raises(PcpinnError, match=r"a\.dat") as caught:
        read(tmp_path, BROKEN[case])
    assert caught.value.remedy


def test_files_that_are_not_there_or_too_large(tmp_path, monkeypatch):
    with pytest.raises(PcpinnError, match="does not exist"):
        read_export(tmp_path / "a.dat")
    with pytest.raises(PcpinnError, match="cannot read"):
        read_export(tmp_path)
    monkeypatch.setattr("pcpinn.catalog.pinnacle._LARGEST", 10)
    with pytest.raises(PcpinnError, match="larger than"):
        read(tmp_path, export(HEAT, [[0, 0, 1, 2, 3]]))


def problem_of(name):
    return CATALOG.find(name).problem()


def test_of_a_problem_in_time(tmp_path):
    write_export(tmp_path, "heat2d-vc", HEAT, [[0, 0.5, 1, 2, 3], [1, 0.25, 4, 5, 6]])
    reference = published_reference("heat2d-vc", tmp_path, problem_of("heat2d-vc"))
    np.testing.assert_array_equal(reference.points[[0, 1, 5]], [[0, 0.5, 0], [0, 0.5, 0.1], [1, 0.25, 5]])
    np.testing.assert_array_equal(reference.values[:, 0], [1, 2, 3, 4, 5, 6])
    assert (reference.kind, reference.error) == ("published", FILES["heat2d-vc"].distance)
    assert "heat_darcy.dat" in reference.note


@pytest.mark.parametrize(
    ("name", "file", "space", "end", "columns"),
    [
        ("burgers1d-c", "burgers1d.dat", Interval(-1, 1), 1.0, ["X", "u (1) @ t=0", "u (1) @ t=0.1", "u (1) @ t=1"]),
        (
            "heat2d-lt",
            "heat_longtime.dat",
            Rectangle((0, 0), (1, 1)),
            100.0,
            ["X", "Y", "u (K) @ t=0", "u (K) @ t=0.2", "u (K) @ t=100"],
        ),
    ],
)
def test_of_nonlinear_problems_in_time(tmp_path, name, file, space, end, columns):
    domain = space.over(0.0, end)
    sides = dict.fromkeys(space.boundary_names, Neumann(0.0))
    problem = Problem(domain, flux=lambda x, u: u.grad, boundary=sides)
    places = [0.25, 1.0][: space.dimension]
    write_export(tmp_path, name, columns, [[*places, 1, 2, 3], [*places[::-1], 4, 5, 6]])
    assert [path.name for path in tmp_path.iterdir()] == [file]
    reference = published_reference(name, tmp_path, problem)
    np.testing.assert_array_equal(reference.points[1], [*places, float(columns[-2].split("=")[1])])
    np.testing.assert_array_equal(reference.points[-1], [*places[::-1], end])
    np.testing.assert_array_equal(reference.values[:, 0], [1, 2, 3, 4, 5, 6])
    write_export(tmp_path, name, columns, [[*places, 1, 2, 3], [*(2.0 for _ in places), 4, 5, 6]])
    with pytest.raises(PcpinnError, match="outside the domain"):
        published_reference(name, tmp_path, problem)


def flow(upper):
    """Velocity and pressure on a rectangle from the origin."""
    return Problem(
        Rectangle((0, 0), upper),
        source=lambda x, u, p: (u.value, p.value),
        fields=(Field("u", components=2), Field("p")),
    )


@pytest.mark.parametrize(("name", "unit", "upper"), [("ns2d-c", " @ Re=100", (1, 1)), ("ns2d-cg", " ({})", (4, 2))])
def test_of_a_flow(tmp_path, name, unit, upper):
    """Three columns, with a parameter or with units; their order in the file does not matter."""
    rows = [[0, 0.5, 3, 1, 2], [1, 0.25, 6, 4, 5], [*upper, 9, 7, 8]]
    columns = [field + unit.format(of) for field, of in (("p", "Pa"), ("u", "m/s"), ("v", "m/s"))]
    write_export(tmp_path, name, ["x", "y", *columns], rows)
    reference = published_reference(name, tmp_path, flow(upper))
    np.testing.assert_array_equal(reference.points, [row[:2] for row in rows])
    np.testing.assert_array_equal(reference.values, [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert (tuple(reference.components), reference.error) == ((0, 1, 2), FILES[name].distance)
    with pytest.raises(PcpinnError, match="outside the domain"):
        published_reference(name, tmp_path, flow((0.9, 0.9)))
    write_export(tmp_path, name, ["x", "y", *columns[1:]], [row[:4] for row in rows])
    with pytest.raises(PcpinnError, match="no column 'p'"):
        published_reference(name, tmp_path, flow(upper))


def test_of_a_flow_for_a_problem_of_one_field(tmp_path):
    write_export(tmp_path, "ns2d-c", ["x", "y", "u", "v", "p"], [[0, 0, 1, 2, 3]])
    with pytest.raises(PcpinnError, match="components"):
        published_reference("ns2d-c", tmp_path, Problem(Rectangle((0, 0), (1, 1)), source=lambda x, u: u.value))


def test_of_another_problem(tmp_path):
    problem = problem_of("poisson2d-c")
    write_export(tmp_path, "poisson2d-c", ["X", "Y", "u (1)"], [[0, 0.0, 1], [3, 0.25, 4]])
    with pytest.raises(PcpinnError, match="outside the domain"):
        published_reference("poisson2d-c", tmp_path, problem)
    write_export(tmp_path, "poisson2d-c", ["X", "Y", "p (1)"], [[0, 0.0, 1]])
    with pytest.raises(PcpinnError, match="no column 'u'"):
        published_reference("poisson2d-c", tmp_path, problem)
    write_export(tmp_path, "poisson2d-c", HEAT, [[0, 0.5, 1, 2, 3]])
    with pytest.raises(PcpinnError, match="3 coordinates"):
        published_reference("poisson2d-c", tmp_path, problem)
    with pytest.raises(PcpinnError, match="no data for 'wave1d-c'"):
        published_reference("wave1d-c", tmp_path, problem)
    with pytest.raises(PcpinnError, match="not a folder"):
        published_reference("poisson2d-c", tmp_path / "none", problem)
