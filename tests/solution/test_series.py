"""Series for ParaView: an index and a file per moment, whole or not at all."""

import os
from pathlib import Path
from xml.etree import ElementTree

import meshio
import numpy as np
import pytest
from formulas import Formula, line_slabs, plate_slabs, sheared, square_simplices

from pcpinn import Field, PcpinnError, Progress
from pcpinn.mesh.extrude import tensor_mesh
from pcpinn.mesh.slab_mesh import SlabMesh
from pcpinn.solution import series
from pcpinn.solution.series import write_series


def listed(path):
    """(time, file) of each entry of an index."""
    root = ElementTree.parse(path).getroot()
    assert (root.tag, root.get("type")) == ("VTKFile", "Collection")
    return [(float(e.get("timestep")), path.parent / e.get("file")) for e in root.findall("Collection/DataSet")]


def names(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_one_file_for_each_end_of_a_slab(tmp_path):
    times = [0.0, 0.1, 1 / 3, 2.0]
    path = write_series(Formula(line_slabs(times), lambda x, t: np.sin(3 * x) + t), tmp_path / "new" / "heat.pvd")
    entries = listed(path)
    assert [t for t, _ in entries] == times
    assert names(path.parent) == ["heat.pvd", "heat_vtu", *(f"heat_vtu/heat_{k:04d}.vtu" for k in range(4))]
    for time, file in entries:
        stored = meshio.read(file)
        x = stored.points[:, 0]
        assert (len(x), x.min(), x.max()) == (257, 0, 1)  # four cells are too few to see anything
        assert not stored.points[:, 1:].any()
        np.testing.assert_allclose(stored.point_data["u"], np.sin(3 * x) + time, rtol=1e-14)


def test_all_fields_on_curved_triangles(tmp_path):
    mesh = plate_slabs((0.0, 1.0), size=0.5)
    fields = (Field("v", components=2), Field("p"), Field("s", components=3))
    solution = Formula(mesh, lambda x, y, t: np.stack([x + t, y, x * y * t, x, y, t], axis=1), fields)
    (_, _), (time, file) = listed(write_series(solution, tmp_path / "u.pvd"))
    stored = meshio.read(file)
    assert (time, list(stored.cells_dict)) == (1.0, ["triangle6"])
    x, y, z = stored.points.T
    assert len(x) >= 2000
    np.testing.assert_allclose(stored.point_data["v"], np.stack([x + 1, y, 0 * x], axis=1))  # arrows have three
    np.testing.assert_allclose(stored.point_data["p"], x * y)
    np.testing.assert_allclose(stored.point_data["s"], np.stack([x, y, 1 + 0 * x], axis=1))
    on_circle = np.abs(np.hypot(x, y) - 0.5) < 2e-3
    assert on_circle.sum() > 40
    assert np.hypot(x, y).min() > 0.498
    assert not z.any()


def test_simplices_and_solids(tmp_path):
    path = write_series(Formula(square_simplices(), lambda x, y, t: x + 10 * y + 100 * t), tmp_path / "u.pvd")
    assert [t for t, _ in listed(path)] == [1.0, 2.0, 3.0]
    stored = meshio.read(listed(path)[1][1])
    np.testing.assert_allclose(stored.point_data["u"], stored.points @ [1, 10, 0] + 200)
    assert stored.points.max(axis=0).tolist() == [1, 2, 0]
    box = SlabMesh(tensor_mesh([np.linspace(0, 1, 3)] * 3, ["side"] * 6), np.array([0.0, 1.0]))
    stored = meshio.read(listed(write_series(Formula(box, lambda x, y, z, t: z + t), tmp_path / "box.pvd"))[1][1])
    np.testing.assert_allclose(stored.point_data["u"], stored.points[:, 2] + 1)


def test_as_many_moments_as_asked_for(tmp_path):
    solution = Formula(line_slabs(), lambda x, t: x)
    assert [t for t, _ in listed(write_series(solution, tmp_path / "u.pvd", frames=5))] == [0, 0.5, 1, 1.5, 2]
    seen = []

    class Listener(Progress):
        def count(self, name, done, total):
            seen.append((name, done, total))

    write_series(solution, tmp_path / "u.pvd", frames=2, progress=Listener())
    assert seen == [("writing", 1, 2), ("writing", 2, 2)]
    assert len(names(tmp_path)) == 4  # the three further files of the older series are gone


def test_names_that_xml_would_choke_on(tmp_path):
    path = write_series(Formula(line_slabs(), lambda x, t: x), tmp_path / 'a <"b"> & ü.pvd')
    assert all(file.exists() for _, file in listed(path))


@pytest.mark.parametrize(
    ("solution", "options", "words"),
    [
        (Formula(line_slabs().space, lambda x: x), {}, "does not depend on time"),
        (Formula(sheared(square_simplices()), lambda x, y, t: x), {}, "changes with time"),
        (Formula(line_slabs(np.arange(1002.0)), lambda x, t: x), {}, "1002 moments"),
        (Formula(line_slabs(), lambda x, t: x), {"frames": 0}, "frames is 0"),
        (Formula(line_slabs(), lambda x, t: x), {"frames": -1}, "frames is -1"),
    ],
)
def test_what_is_refused(tmp_path, solution, options, words):
    with pytest.raises(PcpinnError, match=words) as caught:
        write_series(solution, tmp_path / "new" / "u.pvd", **options)
    assert caught.value.remedy
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(tmp_path):
    solution = Formula(line_slabs(), lambda x, t: x)
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.pvd").mkdir()
    (tmp_path / "mine_vtu").mkdir()
    (tmp_path / "mine_vtu" / "precious.txt").write_text("keep me")
    (tmp_path / "link_vtu").symlink_to(tmp_path / "folder.pvd")
    before = names(tmp_path)
    for name, words in (
        ("u.vtu", "ends in|cannot write a series"),
        ("file/u.pvd", "cannot write"),
        ("folder.pvd", "is a folder"),
        ("mine.pvd", "not a series"),
        ("link.pvd", "not a series"),
    ):
        with pytest.raises(PcpinnError, match=words):
            write_series(solution, tmp_path / name)
    assert names(tmp_path) == before


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_exchange_leaves_the_older_series(tmp_path, monkeypatch, failing, error):
    """Two things move away, two come in; whichever move fails, all are back."""
    write_series(Formula(line_slabs(), lambda x, t: x), tmp_path / "u.pvd")
    before = contents(tmp_path)
    calls, rename = [], Path.rename

    def fail(self, target):
        calls.append(target)
        if len(calls) == failing:
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises((PcpinnError, KeyboardInterrupt)):
        write_series(Formula(line_slabs(), lambda x, t: x + 1), tmp_path / "u.pvd", frames=7)
    assert contents(tmp_path) == before
    assert sorted(os.listdir(tmp_path)) == ["u.pvd", "u_vtu"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_while_writing_leaves_nothing(tmp_path, monkeypatch, error):
    write, written = series.vtu_file, []

    def fail(path, *rest):
        if len(written) == 2:
            raise error
        written.append(path)
        write(path, *rest)

    monkeypatch.setattr(series, "vtu_file", fail)
    with pytest.raises((PcpinnError, KeyboardInterrupt)) as caught:
        write_series(Formula(line_slabs(), lambda x, t: x), tmp_path / "u.pvd")
    if isinstance(error, OSError):
        assert "No space left" in str(caught.value)
    assert not list(tmp_path.iterdir())
