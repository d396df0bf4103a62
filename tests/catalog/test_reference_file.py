"""References on disk: what is written is read again; broken and hostile files are refused."""

import io
import json
import zipfile

import numpy as np
import pytest

from pcpinn.catalog.reference_file import read_reference, shipped_reference, space_time_points, write_reference
from pcpinn.errors import PcpinnError
from pcpinn.solution.reference import Reference

MADE = {"method": "by hand", "levels": [1, 2], "differences": [0.1], "command": "pcpinn reference make x"}


def some_reference(error=1e-4, product=True):
    rng = np.random.default_rng(0)
    places, times = rng.uniform(size=(7, 2)), np.linspace(0, 1, 5)
    points = space_time_points(places, times) if product else rng.uniform(size=(35, 3))
    return Reference(points, rng.normal(size=(35, 2)), components=(0, 2), kind="certified", error=error, note="a note")


@pytest.mark.parametrize("product", [True, False])
@pytest.mark.parametrize("error", [0.0, 1e-4])
def test_round_trip(tmp_path, product, error):
    reference = some_reference(error, product)
    write_reference(tmp_path / "deep" / "r.npz", reference, MADE)
    again, made = read_reference(tmp_path / "deep" / "r.npz")
    assert made == MADE
    np.testing.assert_array_equal(again.points, reference.points)
    np.testing.assert_allclose(again.values, reference.values, rtol=1e-7 if error else 0)
    facts = ("kind", "error", "note", "components")
    assert [getattr(again, f) for f in facts] == [getattr(reference, f) for f in facts]
    with np.load(tmp_path / "deep" / "r.npz") as arrays:
        assert ("places" in arrays) == product
        assert arrays["values"].dtype == (np.float32 if error else np.float64)


@pytest.mark.parametrize("points", [np.zeros((4, 1)), np.zeros((4, 2)), np.zeros((1, 3)), np.eye(3)[[0, 0, 1]]])
def test_points_that_hardly_are_a_product(tmp_path, points):
    reference = Reference(points, np.arange(len(points), dtype=float))
    write_reference(tmp_path / "r.npz", reference, {})
    np.testing.assert_array_equal(read_reference(tmp_path / "r.npz")[0].points, points)


def rewrite(path, **changes):
    with np.load(path) as arrays:
        data = {**arrays, **changes}
    np.savez_compressed(path, **{k: v for k, v in data.items() if v is not None})


def facts_of(path, **changes):
    with np.load(path) as arrays:
        return np.array(json.dumps({**json.loads(str(arrays["facts"])), **changes}))


FACTS = [
    {"format": 2},
    {"made": 3},
    {"error": "small"},
    {"error": -1.0},
    {"error": float("nan")},
    {"components": [0]},
    {"components": ["u", "v"]},
    {"components": None},
    {"kind": 3},
    {"note": None},
]
ARRAYS = {
    "no values": {"values": None},
    "no times": {"times": None},
    "no facts": {"facts": None},
    "facts are no JSON": {"facts": np.array("{")},
    "facts are a list": {"facts": np.array("[1]")},
    "deep JSON": {"facts": np.array("[" * 100_000)},
    "values of text": {"values": np.array([["a", "b"]] * 35)},
    "complex values": {"values": np.ones((35, 2), dtype=complex)},
    "nan": {"values": np.full((35, 2), np.nan)},
    "short": {"values": np.zeros((34, 2))},
    "times of two axes": {"times": np.zeros((5, 1))},
    "objects": {"values": np.array([[{}, {}]] * 35, dtype=object)},
}


@pytest.mark.parametrize("changes", FACTS, ids=str)
def test_hostile_facts(tmp_path, changes):
    path = tmp_path / "r.npz"
    write_reference(path, some_reference(), MADE)
    rewrite(path, facts=facts_of(path, **changes))
    with pytest.raises(PcpinnError, match=r"r\.npz"):
        read_reference(path)


@pytest.mark.parametrize("case", ARRAYS)
def test_hostile_arrays(tmp_path, case):
    path = tmp_path / "r.npz"
    write_reference(path, some_reference(), MADE)
    rewrite(path, **ARRAYS[case])
    with pytest.raises(PcpinnError, match=r"r\.npz"):
        read_reference(path)


def test_files_that_are_not_ours(tmp_path):
    path = tmp_path / "r.npz"
    for data in (b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"\xff" * 64):
        path.write_bytes(data)
        with pytest.raises(PcpinnError, match=r"r\.npz"):
            read_reference(path)
    with pytest.raises(PcpinnError, match="does not exist"):
        read_reference(tmp_path / "none.npz")
    with pytest.raises(PcpinnError, match="does not exist"):
        shipped_reference("nothing-of-the-kind")


def test_cut_short_or_changed(tmp_path):
    path = tmp_path / "r.npz"
    write_reference(path, some_reference(), MADE)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(PcpinnError, match=r"r\.npz"):
        read_reference(path)
    middle = data.index(b"values.npy") + 60
    path.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
    with pytest.raises(PcpinnError, match=r"r\.npz"):
        read_reference(path)


def test_a_header_that_promises_too_much(tmp_path, monkeypatch):
    """A tiny archive must not make us unpack or allocate gigabytes."""
    monkeypatch.setattr("pcpinn.catalog.reference_file._LARGEST", 10**6)
    path = tmp_path / "r.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**20)})
    for content, why in ((header.getvalue(), "cannot be read"), (bytes(10**6 + 1), "unpacks to more")):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("values.npy", content)
        with pytest.raises(PcpinnError, match=why):
            read_reference(path)
    rng = np.random.default_rng(0)
    write_reference(path, some_reference(), MADE)
    rewrite(path, places=rng.uniform(size=(20_000, 2)), times=rng.uniform(size=20_000))
    with pytest.raises(PcpinnError, match="not those of its values"):
        read_reference(path)
