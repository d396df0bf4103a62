"""Broken and hostile mesh files: always PcpinnError, never another exception, nothing printed."""

import contextlib
import os

import meshio
import numpy as np
import pytest
from mesh_files import GMSH41, SQUARE, flat3, save

from pcpinn.errors import PcpinnError
from pcpinn.mesh.read import read_mesh


def refused(path, message, capfd=None):
    with pytest.raises(PcpinnError, match=message) as caught:
        read_mesh(path)
    assert caught.value.remedy
    if capfd is not None:
        assert capfd.readouterr() == ("", "")


def test_paths(tmp_path):
    refused(tmp_path / "no.msh", "does not exist")
    (tmp_path / "dir.msh").mkdir()
    refused(tmp_path / "dir.msh", "is a directory")
    (tmp_path / "m.stl").write_text("solid")
    refused(tmp_path / "m.stl", "unknown type '.stl'")
    (tmp_path / "m.msh").write_text("")
    refused(tmp_path / "m.msh", "is empty")
    refused(None, "not a usable path")
    refused("a\0b.msh", "not a usable path|does not exist")


@pytest.mark.parametrize("suffix", [".msh", ".vtu", ".xdmf"])
@pytest.mark.parametrize("content", [b"hello\n", b"\x00\xff\xfe" * 50, b"$MeshFormat\n9.9 0 8\n", b"<a><b></a>", b"("])
def test_garbage(tmp_path, suffix, content, capfd):
    path = tmp_path / f"m{suffix}"
    path.write_bytes(content)
    refused(path, "cannot be read", capfd)


@pytest.mark.parametrize("kind", ["gmsh22-ascii", "gmsh22-binary", "gmsh41", "vtu", "xdmf"])
def test_truncated_at_any_place(tmp_path, kind, capfd):
    path = tmp_path / ("m.msh" if kind.startswith("gmsh") else f"m.{kind}")
    if kind == "gmsh41":
        path.write_text(GMSH41)
    elif kind.startswith("gmsh22"):
        save(path, SQUARE, file_format="gmsh22", binary=kind.endswith("binary"))
    else:
        save(path, SQUARE, named=False)
    whole = path.read_bytes()
    refusals = 0
    for cut in np.linspace(1, len(whole) * 0.95, 30).astype(int):
        path.write_bytes(whole[:cut])
        try:
            read_mesh(path)
        except PcpinnError:
            refusals += 1
    assert refusals >= 25  # what follows the last cell may be missing
    assert capfd.readouterr() == ("", "")


def test_damaged_bytes_never_raise_anything_else(tmp_path, capfd):
    rng = np.random.default_rng(0)
    for name, options in (("m.msh", {"file_format": "gmsh22", "binary": False}), ("m.vtu", {"named": False})):
        path = save(tmp_path / name, SQUARE, **options)
        whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
        for _ in range(40):
            damaged = whole.copy()
            damaged[rng.integers(0, len(whole), 5)] = rng.integers(32, 127, 5)
            path.write_bytes(damaged.tobytes())
            with contextlib.suppress(PcpinnError):
                read_mesh(path)
    assert capfd.readouterr() == ("", "")


def test_xdmf_without_its_data_file(tmp_path, capfd):
    path = save(tmp_path / "m.xdmf", SQUARE, named=False)
    (tmp_path / "m.h5").unlink()
    refused(path, "cannot be read", capfd)


def write(path, points, blocks):
    meshio.Mesh(points, blocks).write(path)
    return path


def test_cells_that_are_not_simplices(tmp_path):
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    refused(write(tmp_path / "q.vtu", square, [("quad", [[0, 1, 2, 3]])]), "1 of type 'quad'")
    mixed = [("triangle", [[0, 1, 2]]), ("quad", [[0, 1, 2, 3]])]
    refused(write(tmp_path / "m.vtu", square, mixed), "1 of type 'quad'")
    refused(write(tmp_path / "v.vtu", square, [("vertex", [[0], [1]])]), "no cells")


def test_broken_numbers(tmp_path):
    points = flat3(SQUARE.nodes)
    cells = SQUARE.cells.copy()
    cells[0, 0] = 500
    refused(write(tmp_path / "r.vtu", points, [("triangle", cells)]), "uses node 500")
    cells[0, 0] = -5
    refused(write(tmp_path / "n.vtu", points, [("triangle", cells)]), "uses node -5")
    points = points.copy()
    points[2, 0] = np.nan
    refused(write(tmp_path / "x.vtu", points, [("triangle", SQUARE.cells)]), "node 2 has the coordinates")


def test_surface_in_space(tmp_path):
    points = flat3(SQUARE.nodes)
    points[:, 2] = points[:, 0] ** 2
    refused(write(tmp_path / "s.vtu", points, [("triangle", SQUARE.cells)]), "not a flat domain")


def test_named_facets_that_do_not_bound_the_cells(tmp_path):
    inside = {"line": np.array([[5, 6]])}
    refused(save(tmp_path / "i.msh", SQUARE, file_format="gmsh22", groups=inside), "not on the boundary")
    extra = np.vstack([flat3(SQUARE.nodes), [[9, 9, 0], [9, 8, 0]]])
    n = len(SQUARE.nodes)
    blocks = [("triangle", SQUARE.cells), ("line", np.array([[n, n + 1]]))]
    meshio.Mesh(extra, blocks, cell_data={"boundary": [np.zeros(18, int), np.ones(1, int)]}).write(tmp_path / "e.vtu")
    refused(tmp_path / "e.vtu", "nodes that no cell uses")


def test_damage_that_only_the_check_sees(tmp_path):
    points = flat3(np.vstack([SQUARE.nodes, SQUARE.nodes + 3]))
    cells = np.vstack([SQUARE.cells, SQUARE.cells + len(SQUARE.nodes)])
    refused(write(tmp_path / "m.vtu", points, [("triangle", cells)]), "m.vtu: the mesh falls into 2 pieces")


@pytest.mark.parametrize("format_", ["HDF", "Binary"])
def test_a_pipe_beside_an_xdmf_file_is_not_opened(tmp_path, format_):
    os.mkfifo(tmp_path / "square.h5")
    item = f'<DataItem DataType="Float" Dimensions="3 2" Format="{format_}" Precision="8">square.h5:/data0</DataItem>'
    path = tmp_path / "square.xdmf"
    path.write_text(f'<Xdmf Version="3.0"><Domain><Grid><Geometry>{item}</Geometry></Grid></Domain></Xdmf>')
    with pytest.raises(PcpinnError, match="not a plain file"):
        read_mesh(path)
