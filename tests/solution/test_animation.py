"""Films of solutions over time: frames, colours, files; what cannot be filmed."""

import os
import stat
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from formulas import Formula, line_slabs, plate_slabs, sheared, square_simplices
from PIL import Image

from pcpinn import Field, PcpinnError, Progress
from pcpinn.mesh.extrude import tensor_mesh
from pcpinn.mesh.slab_mesh import SlabMesh
from pcpinn.solution import animation
from pcpinn.solution.animation import animate, limits

VECTOR = (Field("v", components=2), Field("p"))


def film(path):
    """(frames, height, width, 3) and the milliseconds of each."""
    with Image.open(path) as image:
        assert image.info["loop"] == 0
        frames, times = [], []
        for k in range(image.n_frames):
            image.seek(k)
            frames.append(np.asarray(image.convert("RGB")))
            times.append(image.info["duration"])
    return np.stack(frames).astype(int), times


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Enough for the places that are looked at."""
    monkeypatch.setattr(animation, "_TRIANGLES", 3000)
    monkeypatch.setattr(animation, "_GRID_POINTS", 60)


@pytest.fixture
def scene(monkeypatch):
    """The last scene, for looking up where places are on the picture."""
    seen = []
    original = animation._maps
    monkeypatch.setattr(animation, "_maps", lambda *a: seen.append(original(*a)) or seen[-1])
    return seen


def colour_at(frames, scene, place):
    """(frames, 3) colours of the pixel at a place of space."""
    column, up = scene[-1].axes[0].transData.transform(place)
    return frames[:, frames.shape[1] - 1 - int(up), int(column)]


def test_a_curve(tmp_path):
    path = animate(Formula(line_slabs(), lambda x, t: np.sin(3 * x) * np.cos(t)), tmp_path / "u.gif", frames=7, fps=8)
    frames, times = film(path)
    assert frames.shape == (7, 390, 460, 3)
    assert sum(times) == pytest.approx(1000 * 7 / 8, abs=10)  # pictures of 120 and 130 ms
    assert set(times) == {120, 130}
    assert all((a != b).any() for a, b in pairwise(frames))
    assert (frames[:, 0, 0] == 255).all()  # white stays white
    grey = (np.abs(frames - 204).max(axis=3) <= 3).sum(axis=(1, 2))
    assert grey[-1] > 300  # the profile of the start
    assert grey[0] < 100  # hidden under the curve itself
    assert [p.name for p in tmp_path.iterdir()] == ["u.gif"]


def test_colours_mean_the_same_in_all_frames(tmp_path, scene):
    path = animate(Formula(plate_slabs(), lambda x, y, t: t + 0 * x), tmp_path / "u.gif", frames=5)
    frames, _ = film(path)
    expected = 255 * mpl.colormaps["viridis"](np.linspace(0, 1, 5))[:, :3]
    for place in [(0.8, 0.8), (-0.9, 0.1)]:
        assert np.abs(colour_at(frames, scene, place) - expected).max() <= 5


def test_round_holes_stay_holes(tmp_path, scene):
    path = animate(Formula(plate_slabs(), lambda x, y, t: x + t), tmp_path / "u.gif", frames=3)
    frames, _ = film(path)
    angle = np.linspace(0, 2 * np.pi, 40)
    for a in angle:  # just inside and just outside of the circle: it is round
        assert (colour_at(frames, scene, (0.47 * np.cos(a), 0.47 * np.sin(a))) == 255).all()
        assert (colour_at(frames, scene, (0.53 * np.cos(a), 0.53 * np.sin(a))).min(axis=1) < 200).all()


def test_equal_scales(tmp_path, scene):
    animate(Formula(square_simplices(), lambda x, y, t: x + y * t), tmp_path / "u.gif", frames=2)
    (x0, y0), (x1, y1) = scene[-1].axes[0].transData.transform([(0, 0), (1, 1)])
    assert x1 - x0 == pytest.approx(y1 - y0)


def test_simplices_are_shown_from_their_start_to_their_end(tmp_path, monkeypatch):
    headings = []
    monkeypatch.setattr(animation, "_pictures", lambda scene, texts, progress: headings.extend(texts))
    monkeypatch.setattr(animation, "write_movie", lambda *a: None)
    asked = []
    solution = Formula(square_simplices(), lambda x, y, t: asked.append((x.min(), x.max(), y.max(), set(t))) or x)
    animate(solution, tmp_path / "u.gif", frames=3, title="heat $1")
    assert asked == [(0, 1, 2, {t}) for t in (1.0, 2.0, 3.0)]
    assert headings == [f"heat $1   t = {t}.0" for t in (1, 2, 3)]


def test_a_domain_that_moves_is_shown_where_it_is(tmp_path, scene):
    solution = Formula(sheared(square_simplices(), 0.5), lambda x, y, t: 1 + 0 * x)
    path = animate(solution, tmp_path / "u.gif", frames=3)
    frames, _ = film(path)
    for place, inside in (((0.2, 1.0), [True, False, False]), ((1.2, 1.0), [False, True, True])):
        assert [bool((c < 200).any()) for c in colour_at(frames, scene, place)] == inside


def test_an_interval_that_moves(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(animation, "_curves", lambda stage, values, names: seen.append((stage, values)))
    monkeypatch.setattr(animation, "_pictures", lambda *a: None)
    monkeypatch.setattr(animation, "write_movie", lambda *a: None)
    animate(Formula(sheared(line_slabs((0.0, 1.0)).simplices), lambda x, t: x), tmp_path / "u.gif", frames=2)
    stage, values = seen[0]
    x = stage.points[:, 0]
    assert (x[0], x[-1]) == (0, 2)
    np.testing.assert_array_equal(np.isfinite(values[0, :, 0]), x <= 1)
    np.testing.assert_array_equal(np.isfinite(values[1, :, 0]), x >= 1)


@pytest.mark.parametrize(
    ("field", "names"),
    [(None, ["v1", "v2", "p"]), ("v", ["v1", "v2"]), ("v2", ["v2"]), ("p", ["p"])],
)
def test_components_side_by_side(tmp_path, scene, field, names):
    solution = Formula(plate_slabs(), lambda x, y, t: np.stack([x * t, y * t, 7 + x], axis=1), VECTOR)
    path = animate(solution, tmp_path / "u.gif", frames=2, field=field)
    assert [ax.get_title() for ax in scene[0].axes] == names
    assert film(path)[0].shape[2] == {1: 460, 2: 828, 3: 1035}[len(names)]
    if field == "p":
        low, high = scene[0].moving[0].get_clim()
        assert (low, high) == pytest.approx((6, 8))


def test_of_many_components_the_first_four(tmp_path, monkeypatch):
    shown, original = [], animation._curves
    monkeypatch.setattr(animation, "_curves", lambda *a: shown.append(a[2]) or original(*a))
    fields = (Field("w", components=6),)
    solution = Formula(line_slabs(), lambda x, t: np.stack([x * t] * 6, axis=1), fields)
    assert film(animate(solution, tmp_path / "u.gif", frames=2))[0].shape == (2, 507, 598, 3)
    assert shown == [["w1", "w2", "w3", "w4"]]


def test_limits_bear_outliers_but_keep_peaks():
    x = np.linspace(-1, 1, 100_000)
    assert limits(x) == (-1, 1)
    assert limits(np.append(x, 1.7)) == (-1, 1.7)
    low, high = limits(np.append(x, [1e6, np.nan, -np.inf]))
    assert (low, high) == pytest.approx((-1, 1), abs=5e-3)
    low, high = limits(np.full(50, 3.0))
    assert low < 3 < high
    low, high = limits(np.zeros(50))
    assert low < 0 < high
    with pytest.raises(PcpinnError, match="not finite"):
        limits(np.full(5, np.nan))


def test_a_colour_bar_tells_of_values_beyond_it(tmp_path, scene):
    peak = lambda x, y, t: x + 1e3 * ((x > 0.99) & (y > 0.99))  # noqa: E731
    animate(Formula(plate_slabs(), peak), tmp_path / "u.gif", frames=2)
    assert scene[0].moving[0].colorbar.extend == "max"
    assert scene[0].moving[0].get_clim()[1] < 2


@pytest.mark.parametrize(("start", "end"), [(0, 1), (-3, 2), (0, 1e-7), (1e8, 1e8 + 1), (0, 1e9), (1990, 1990.01)])
def test_the_clock_tells_frames_apart(start, end):
    times = np.linspace(start, end, 60)
    shown = animation._clock(times, "")
    assert len(set(shown)) == 60
    read = np.array([float(text.removeprefix("t = ")) for text in shown])
    np.testing.assert_allclose(read, times, rtol=0, atol=(end - start) / 59)
    assert max(map(len, shown)) < 22


def test_sixty_frames_of_busy_fields_stay_small(tmp_path, monkeypatch):
    """A tenth of them, each further from the one before than of sixty, takes less than a tenth of 6 MB."""

    def waves(x, y, t):
        parts = [np.sin(9 * x - 6 * t) * np.cos(7 * y), np.cos(8 * x * y + 6 * t), np.sin(10 * np.hypot(x, y) - 6 * t)]
        return np.stack([*parts, np.cos(7 * x + 6 * t) * np.sin(9 * y)], axis=1)

    monkeypatch.setattr(animation, "_TRIANGLES", 20_000)
    solution = Formula(plate_slabs(), waves, (Field("v", components=4),))
    assert animate(solution, tmp_path / "u.gif", frames=6).stat().st_size < 6e5


def test_progress_counts_frames(tmp_path):
    seen = []

    class Listener(Progress):
        def count(self, name, done, total):
            seen.append((name, done, total))

    animate(Formula(line_slabs(), lambda x, t: x * t), tmp_path / "u.gif", frames=3, progress=Listener())
    assert seen == [(name, k, 3) for name in ("evaluating", "drawing") for k in (1, 2, 3)]


LINE = Formula(line_slabs(), lambda x, t: x * t)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frames": 0}, "frames is 0"),
        ({"frames": -5}, "frames is -5"),
        ({"frames": 1}, "frames is 1"),
        ({"frames": 1001}, "frames is 1001"),
        ({"frames": 2.5}, "frames is 2.5"),
        ({"frames": True}, "frames is True"),
        ({"fps": 0}, "fps is 0"),
        ({"fps": -1}, "fps is -1"),
        ({"fps": 51}, "fps is 51"),
        ({"fps": float("nan")}, "fps is nan"),
        ({"field": "w"}, "no field 'w'"),
        ({"field": ""}, "no field ''"),
        ({"field": "u1"}, "no field 'u1'"),
    ],
)
def test_wrong_wishes(tmp_path, options, words):
    with pytest.raises(PcpinnError, match=words) as caught:
        animate(LINE, tmp_path / "new" / "u.gif", **options)
    assert caught.value.remedy
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.gif").mkdir()
    for name, words in (("u.png", "'u.png'"), ("u", "'u'"), ("file/u.gif", "cannot write"), ("folder.gif", "folder")):
        with pytest.raises(PcpinnError, match=words):
            animate(LINE, tmp_path / name, frames=2)
    assert {p.name for p in tmp_path.iterdir()} == {"file", "folder.gif"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_write_protected_folder_is_noticed_before_drawing(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(PcpinnError, match="write-protected"):
        animate(LINE, tmp_path / "u.gif", frames=2)
    tmp_path.chmod(0o755)


def test_what_stands_still_or_is_solid_is_refused(tmp_path):
    with pytest.raises(PcpinnError, match="does not depend on time") as caught:
        animate(Formula(line_slabs().space, lambda x: x), tmp_path / "u.gif")
    assert "pcpinn plot" in caught.value.remedy
    box = tensor_mesh([np.linspace(0, 1, 3)] * 3, ["side"] * 6)
    with pytest.raises(PcpinnError, match="solid") as caught:
        animate(Formula(SlabMesh(box, np.array([0.0, 1.0])), lambda x, y, z, t: t), tmp_path / "u.gif")
    assert "pvd" in caught.value.remedy
    with pytest.raises(PcpinnError, match="not finite"):
        animate(Formula(line_slabs(), lambda x, t: x * np.nan), tmp_path / "u.gif")
    assert not list(tmp_path.iterdir())


def test_an_interrupt_keeps_the_old_film(tmp_path):
    class Interrupt(Progress):
        def count(self, name, done, total):
            if (name, done) == ("drawing", 2):
                raise KeyboardInterrupt

    (tmp_path / "u.gif").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        animate(LINE, tmp_path / "u.gif", frames=4, progress=Interrupt())
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("u.gif", "old")]


def test_a_full_disk_keeps_the_old_film(tmp_path, monkeypatch):
    def full(fd):
        assert (tmp_path / "u.gif").read_text() == "old"
        raise OSError(28, "No space left on device")

    (tmp_path / "u.gif").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PcpinnError, match="No space left"):
        animate(LINE, tmp_path / "u.gif", frames=2)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("u.gif", "old")]


def fake_ffmpeg(folder, monkeypatch, script):
    """A program called ffmpeg, found first."""
    folder.mkdir()
    program = folder / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_an_mp4_is_piped_through_ffmpeg(tmp_path, monkeypatch):
    """The stand-in writes its arguments, then all that it is sent, to its last argument."""
    fake_ffmpeg(
        tmp_path / "bin",
        monkeypatch,
        'for last; do :; done; printf "%s " "$@" > "$last"; echo >> "$last"; cat >> "$last"',
    )
    path = animate(LINE, tmp_path / "u.mp4", frames=3, fps=24)
    said, sent = path.read_bytes().split(b"\n", 1)
    assert b"-f rawvideo -pix_fmt rgb24 -s 460x390 -r 24 -i pipe:0" in said  # even sizes: the format needs them
    assert len(sent) == 3 * 460 * 390 * 3
    pictures = np.frombuffer(sent, np.uint8).reshape(3, 390, 460, 3)
    assert (pictures[0] != pictures[2]).any()
    assert {p.name for p in tmp_path.iterdir()} == {"bin", "u.mp4"}


def test_odd_sizes_are_made_even_for_ffmpeg(tmp_path, monkeypatch):
    fake_ffmpeg(tmp_path / "bin", monkeypatch, 'for last; do :; done; echo "$@" > "$last"; cat > /dev/null')
    fields = (Field("w", components=4),)
    solution = Formula(line_slabs(), lambda x, t: np.stack([x * t] * 4, axis=1), fields)
    assert b"-s 598x506 " in animate(solution, tmp_path / "u.mp4", frames=2).read_bytes()


@pytest.mark.parametrize("script", ["echo no encoder >&2; exit 3", "cat > /dev/null; echo no encoder >&2; exit 1"])
def test_ffmpeg_that_fails(tmp_path, monkeypatch, script):
    fake_ffmpeg(tmp_path / "bin", monkeypatch, script)
    with pytest.raises(PcpinnError, match="ffmpeg failed: no encoder") as caught:
        animate(LINE, tmp_path / "u.mp4", frames=9)
    assert "gif" in caught.value.remedy
    assert {p.name for p in tmp_path.iterdir()} == {"bin"}


def test_no_ffmpeg(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PcpinnError, match="needs ffmpeg") as caught:
        animate(LINE, tmp_path / "u.mp4", frames=2)
    assert "install ffmpeg" in caught.value.remedy
    assert not list(tmp_path.iterdir())
