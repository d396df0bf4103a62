"""Files for other programs, each read back with something that is not pcpinn."""

import csv

import h5py
import meshio
import numpy as np
import pytest
import torch
from formulas import Formula, line_slabs, plate_slabs

import pcpinn as pc
from pcpinn import Field, PcpinnError
from pcpinn.invert.nodal import NodalFunction
from pcpinn.mesh.generate import generate_mesh
from pcpinn.network.dense import Architecture, DenseNetwork
from pcpinn.network.features import Features
from pcpinn.network.marched import MarchedNetwork, Plan
from pcpinn.solution.cut import Cut
from pcpinn.solution.hdf import write_vtkhdf, write_xdmf
from pcpinn.solution.recorded import write_onnx, write_pt2

KNOTS = ((0.0, -1.0, 0.5), (0.5, 0.1, 2.0), (1.0, 1.0, 0.3))


def plain(activation):
    return DenseNetwork(Architecture(width=3, depth=1, activation=activation), [0, 0], [1, 1], 1, torch.Generator())


def perceptron(activation="tanh", width=5):
    """A network with inputs of every kind."""
    features = Features(
        kind="log", count=2, low=-2, high=1, kinks=((0.1,), ()), corners=((0.2, 0.3),), start=0.1, squares=True,
        stretch=(KNOTS, ()),
    )  # fmt: skip
    architecture = Architecture(width=width, depth=1, activation=activation, features=features)
    return DenseNetwork(architecture, [0, 0], [1, 1], 1, torch.Generator().manual_seed(0))


def march(scheme, order=1, shared=True):
    """u, and a rate that is not shown, in three windows of two steps."""
    plan = Plan(scheme, order, 2, 2, 1)
    base = DenseNetwork(Architecture(width=4, depth=1), [0], [1], plan.layers * 2, torch.Generator().manual_seed(1))
    thetas = torch.randn(4, base.parameter_count, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    if shared:
        thetas[:, : -base.head_size] = thetas[0, : -base.head_size]
    return MarchedNetwork(base, plan, np.array([0, 0.1, 0.3, 0.4, 0.6, 0.8, 1.0]), thetas)


def points(n=12, d=2):
    return torch.rand(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * 1.2 - 0.1


def with_gradients(network, x):
    x = x.clone().requires_grad_()
    values = network(x)
    rows = [torch.autograd.grad(v.sum(), x, retain_graph=True)[0] for v in values.unbind(-1)]
    return values.detach().numpy(), torch.stack(rows, 1).numpy()


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize(
    ("network", "tolerance"),
    [(perceptron(), 1e-12), (plain("gelu"), 1e-6), (march("bdf2"), 1e-12)],
    ids=["tanh", "gelu", "march"],
)
def test_onnx_has_values_and_gradients(tmp_path, network, tolerance):
    onnxruntime = pytest.importorskip("onnxruntime")  # not made for every system
    path = write_onnx(network, 2, tmp_path / "new" / "u.onnx", {"components": ["u"]})
    session = onnxruntime.InferenceSession(path)
    assert session.get_modelmeta().custom_metadata_map == {"pcpinn.components": '["u"]'}
    for n in (1, 12):
        x = points(n)
        values, gradients = session.run(["values", "gradients"], {"x": x.numpy()})
        exact = with_gradients(network, x)
        assert (values.dtype, values.shape, gradients.shape) == (np.float64, exact[0].shape, exact[1].shape)
        assert relative(values, exact[0]) < tolerance
        assert relative(gradients, exact[1]) < tolerance


@pytest.mark.parametrize("network", [perceptron("silu"), march("radau", 2), march("bdf2", shared=False)])
def test_torch_reads_it_without_us(tmp_path, network):
    path = write_pt2(network, 2, tmp_path / "u.pt2")
    found, exact = with_gradients(torch.export.load(path).module(), points()), with_gradients(network, points())
    assert relative(found[0], exact[0]) < 1e-14
    assert relative(found[1], exact[1]) < 1e-13


def test_torch_exports_the_network_of_a_march_itself():
    network = march("bdf2", shared=False)
    dynamic = {"x": {0: torch.export.Dim("n")}}
    graph = torch.export.export(network, (points(4),), dynamic_shapes=dynamic).module()
    assert relative(graph(points()).detach().numpy(), network(points()).detach().numpy()) < 1e-14


def test_a_network_that_nobody_can_record(tmp_path):
    network = perceptron()
    network.bare = lambda theta, x: x[:, :1] if float(x.detach().sum()) > 0 else x[:, 1:]
    with pytest.raises(PcpinnError, match=r"\.pt2 cannot hold DenseNetwork"):
        write_pt2(network, 2, tmp_path / "u.pt2")
    assert not (tmp_path / "u.pt2").exists()


def test_nodal_values_are_no_network(tmp_path):
    values = NodalFunction(np.zeros(3), lambda x: [np.zeros((len(x), 3))], 2)
    with pytest.raises(PcpinnError, match="nodal values"):
        write_pt2(values, 2, tmp_path / "u.pt2")


def test_xdmf_and_its_arrays(tmp_path):
    mesh = plate_slabs().space
    fields = (Field("v", components=2), Field("p"))
    solution = Formula(mesh, lambda x, y: np.stack([x, y, x * y], axis=1), fields)
    stored = meshio.read(write_xdmf(solution, tmp_path / "new" / "u.xdmf"))
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["u.h5", "u.xdmf"]
    np.testing.assert_array_equal(stored.cells_dict["triangle6"], mesh.cells)
    x, y, z = stored.points.T
    np.testing.assert_array_equal(stored.points[:, :2], mesh.nodes)
    np.testing.assert_array_equal(stored.point_data["v"], np.stack([x, y, 0 * x], axis=1))
    np.testing.assert_array_equal(stored.point_data["p"], x * y)
    assert not z.any()


def test_xdmf_over_time(tmp_path):
    times = [0.0, 0.1, 1 / 3, 2.0]
    solution = Formula(line_slabs(times), lambda x, t: np.sin(3 * x) + t)
    path = write_xdmf(solution, tmp_path / "u.xdmf")
    with meshio.xdmf.TimeSeriesReader(path) as reader:
        nodes, cells = reader.read_points_cells()
        assert len(cells[0].data) == 256
        for k, time in enumerate(times):
            t, data, _ = reader.read_data(k)
            assert t == time
            np.testing.assert_array_equal(data["u"], np.sin(3 * nodes[:, 0]) + time)
        assert reader.num_steps == 4
    write_xdmf(solution, path, frames=2)  # again, over the old one
    assert sorted(p.name for p in tmp_path.iterdir()) == ["u.h5", "u.xdmf"]


@pytest.mark.parametrize("frames", [None, 3])
def test_vtkhdf(tmp_path, frames):
    """The layout that VTK documents for unstructured grids and their series."""
    over_time = frames is not None
    mesh = plate_slabs((0.0, 1.0)) if over_time else plate_slabs().space
    formula = (lambda x, y, t: x + y * t) if over_time else (lambda x, y: x + 2 * y)
    with h5py.File(write_vtkhdf(Formula(mesh, formula), tmp_path / "u.vtkhdf", frames=frames)) as file:
        root = file["VTKHDF"]
        assert (list(root.attrs["Version"]), root.attrs["Type"]) == ([2, 0], b"UnstructuredGrid")
        n, c = int(root["NumberOfPoints"][0]), int(root["NumberOfCells"][0])
        assert root["Points"].shape == (n, 3)
        assert list(root["Offsets"]) == list(range(0, 6 * c + 1, 6))
        assert set(root["Types"]) == {22}
        assert root["Connectivity"][:].max() == n - 1
        x, y, _ = root["Points"][:].T
        if not over_time:
            assert "Steps" not in root
            np.testing.assert_allclose(root["PointData/u"], x + 2 * y)
            return
        steps = root["Steps"]
        assert steps.attrs["NSteps"] == 3
        for time, first in zip(steps["Values"], steps["PointDataOffsets/u"], strict=True):
            np.testing.assert_allclose(root["PointData/u"][first : first + n], x + y * time)


@pytest.mark.parametrize("write", [write_xdmf, write_vtkhdf])
def test_names_and_places_are_checked(tmp_path, write):
    solution = Formula(plate_slabs().space, lambda x, y: x)
    with pytest.raises(PcpinnError, match="ends in"):
        write(solution, tmp_path / "u.vtu")
    ending = {write_xdmf: "xdmf", write_vtkhdf: "vtkhdf"}[write]
    with pytest.raises(PcpinnError, match="does not depend on time"):
        write(solution, tmp_path / f"u.{ending}", frames=3)
    (tmp_path / "file").write_text("")
    with pytest.raises(PcpinnError, match="cannot write"):
        write(solution, tmp_path / "file" / f"u.{ending}")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.fixture(scope="module")
def plate():
    """A trained network on a plate with a hole."""
    domain = pc.Rectangle((0, 0), (1, 2)) - pc.Disk((0.5, 1.0), 0.25)
    rest = dict.fromkeys(("right", "bottom", "top", "boundary"), pc.Neumann(0.0))
    boundary = {"left": pc.Dirichlet(0.0)} | rest
    problem = pc.Problem(domain, flux=lambda x, u: u.grad, source=lambda x, u: -1.0, boundary=boundary)
    return pc.solve(problem, mesh=pc.Meshing(size=0.5, degree=1), width=4, depth=1, iterations=1, certify=False)


def rows_of(path):
    with path.open() as file:
        head, *rows = csv.reader(file)
    return head, np.array(rows, dtype=float)


def test_cuts_as_a_table(tmp_path, plate):
    head, rows = rows_of(plate.to_csv(tmp_path / "u.csv", "y=1", "0,0:1,2", count=101))
    assert head == ["x", "y", "u"]
    np.testing.assert_array_equal(rows[:, 2], plate(rows[:, :2]))
    level = rows[:, 1] == 1
    assert 40 < level.sum() < 60  # the hole is left out
    assert (np.abs(rows[level, 0] - 0.5) > 0.2).all()
    np.testing.assert_allclose(rows[~level, 1], 2 * rows[~level, 0])


def test_cuts_through_space_and_time():
    mesh = plate_slabs((0.0, 3.0))
    assert Cut.parse("x=0.5, t=3").points(mesh).shape == (200, 3)
    plane = Cut.parse("t=3").points(mesh, 5)
    assert plane.shape == (25, 3)
    assert set(plane[:, 2]) == {3.0}
    assert set(plane[:, 0]) == {-1, -0.5, 0, 0.5, 1}
    line = Cut.parse("-1,0,0:1,0,3").points(mesh, 3)
    np.testing.assert_allclose(line, [[-1, 0, 0], [0, 0, 1.5], [1, 0, 3]])


@pytest.mark.parametrize(
    "text", ["", "x", "x=", "x=nan", "q=1", "0,0", "0,0:1", "0,0,0:1,1,1", "x=1,x=1", "x=1,y=1", "0,0:inf,1", "1=x"]
)
def test_cuts_that_are_none(text):
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(2, 2))
    with pytest.raises(PcpinnError):
        Cut.parse(text).points(mesh)


def test_cuts_outside(tmp_path, plate):
    with pytest.raises(PcpinnError, match="does not meet the domain"):
        plate.to_csv(tmp_path / "u.csv", "x=7")
    with pytest.raises(PcpinnError, match="without a cut"):
        plate.to_csv(tmp_path / "u.csv")
    with pytest.raises(PcpinnError, match="1 points"):
        plate.to_csv(tmp_path / "u.csv", "x=0.5", count=1)
