"""Data: what is read, and what is refused with its row."""

import numpy as np
import pytest
import torch
from cases import chosen

import pcpinn as pc
from pcpinn.invert.observations import read_observations, write_observations
from pcpinn.solve.build import make_mesh

PROBLEM = pc.Problem(
    pc.Rectangle((0, 0), (1, 1)),
    flux=lambda x, u: u.grad,
    boundary=dict.fromkeys(("left", "right", "top", "bottom"), pc.Dirichlet(0.0)),
)
MESH = make_mesh(PROBLEM, chosen(cells=(2, 2)))


def read(tmp_path, text, problem=PROBLEM, has_time=False):
    path = tmp_path / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    sets = read_observations(path, problem, has_time)
    for d in sets:
        d.check(problem, MESH)
    return sets


def test_a_table_comes_back_as_it_was_written(tmp_path):
    x = np.random.default_rng(0).random((7, 2))
    data = pc.Observations(x, x[:, 0], noise=np.linspace(0.1, 0.2, 7))
    write_observations(tmp_path / "d.csv", data, has_time=False)
    (back,) = read_observations(tmp_path / "d.csv", PROBLEM, False)
    np.testing.assert_array_equal(back.points, data.points)
    np.testing.assert_array_equal(back.values, data.values)
    np.testing.assert_array_equal(back.noise, data.noise)
    assert back.field == "u"


def test_columns_in_any_order_with_one_noise_for_all(tmp_path):
    (d,) = read(tmp_path, "u, y ,x,noise\n1,0.25,0.5,0.1\n\n2,0.5,0.75,0.2\n")
    np.testing.assert_array_equal(d.points, [[0.5, 0.25], [0.75, 0.5]])
    assert d.rows.tolist() == [2, 4]
    assert d.noise.tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: there is no header"),
        ("x,y,u\n", "a header and no data"),
        ("0.1,0.2,0.3\n0.1,0.2,0.3\n", "row 1: the header is missing"),
        ("x,y,u,u\n0,0,1,1\n", "row 1: column 'u' appears 2 times"),
        ("x,u\n0,1\n", "row 1: there is no column 'y'"),
        ("x,y\n0,1\n", "row 1: no column holds data"),
        ("x [cm],y,u\n0,1,1\n", r"row 1: column 'x \[cm\]' is not known"),
        ("x,y,u\n0,1,1\n0,1\n", "row 3: 2 cells under 3 columns"),
        ("x,y,u\n0,1,1\n0,0,nan\n", "row 3: u is 'nan'"),
        ("x,y,u\n0,1,1\n0,,1\n", "row 3: y is ''"),
        ("x,y,u\n0,1,1\n0,0.5,1e999\n", "row 3: u is '1e999'"),
        ("x,y,u\n0,1,1\n0,0.5,1_0\n", "row 3: u is '1_0'"),
        ("x,y,u\n0.5,0.5,1\n50,50,2\n60,1,1\n", r"row 3: the point \(50, 50\) lies outside the domain.*in 1 more"),
        ("x,y,u,noise\n0.5,0.5,1,0\n", "row 2: the noise is not a positive number"),
        (b"\xff\xfe\x00x", "cannot be read"),
        ('x,y,u\n"0', "cannot be read"),
    ],
)
def test_bad_tables_are_refused_with_the_row(tmp_path, text, message):
    with pytest.raises(pc.PcpinnError, match=message):
        read(tmp_path, text)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(pc.PcpinnError, match="cannot be read"):
        read_observations(tmp_path / "none.csv", PROBLEM, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0, np.nan]], [1.0]), "row 1: a coordinate is not finite"),
        (([[0.0, 0.0]], [np.inf]), "row 1: the value is not finite"),
        (([[0.0, 0.0]], [1.0, 2.0]), "points"),
        (([[0.0, 0.0]], [["a"]]), "not numbers"),
        (([[0.0, 0.0]], [1.0], -1.0), "noise"),
    ],
)
def test_bad_arrays_are_refused(arguments, message):
    with pytest.raises(pc.PcpinnError, match=message):
        pc.Observations(*arguments)


def test_data_of_another_problem_are_refused():
    with pytest.raises(pc.PcpinnError, match="3 coordinates"):
        pc.Observations([[0.0, 0.0, 0.0]], [1.0]).check(PROBLEM, MESH)
    with pytest.raises(pc.PcpinnError, match="no field 'v'"):
        pc.Observations([[0.0, 0.0]], [1.0], field="v").check(PROBLEM, MESH)
    with pytest.raises(pc.PcpinnError, match="component 1"):
        pc.Observations([[0.0, 0.0]], [1.0], component=1).check(PROBLEM, MESH)


def test_observables_see_space_and_time_as_the_problem_does():
    x, state = torch.tensor([0.5, 2.0]), torch.tensor([[3.0, 5.0, 7.0]])  # u, u_x and u_t (or u_y)
    over_time, steady = (
        pc.Problem(domain, flux=lambda x, u: u.grad) for domain in (pc.Interval(0, 1).over(0, 3), PROBLEM.domain)
    )

    def seen(observable, problem):
        return float(pc.Observations([[0.5, 2.0]], [0.0], observable=observable).observed(problem)(x, state))

    assert seen(lambda x, u: x.sum() + u.grad.sum(), steady) == 2.5 + 12.0
    assert seen(lambda x, u: x.sum() + u.grad.sum() + 100 * u.dt, over_time) == 0.5 + 5.0 + 700.0
    assert seen(lambda x, t, u: t * u.value, over_time) == 6.0
    with pytest.raises(pc.PcpinnError, match="one number"):
        seen(lambda x, u: u.grad, steady)
