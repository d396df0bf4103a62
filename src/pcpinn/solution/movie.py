"""Pictures one after another in one file: .gif by pillow, .mp4 by ffmpeg where it is installed."""

from __future__ import annotations

import io
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.spatial import cKDTree

from ..errors import PcpinnError
from ..files import write_atomically

FORMATS = ("gif", "mp4")
_FASTEST = {"gif": 50.0, "mp4": 240.0}  # pictures per second; programs show faster .gif slowly, at ten
_GREYS = 64


def check_movie(path: Path, fps: float) -> None:
    """Refuse, before anything is drawn, what could not be written."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise PcpinnError(f"cannot animate into {path.name!r}", "use a name that ends in .gif or .mp4")
    if not (math.isfinite(fps) and 0.1 <= fps <= _FASTEST[ending]):
        raise PcpinnError(f"fps is {fps:g}", f"give from 0.1 to {_FASTEST[ending]:g} frames per second for .{ending}")
    if ending == "mp4" and shutil.which("ffmpeg") is None:
        raise PcpinnError(
            "an .mp4 needs ffmpeg, which is not installed", "install ffmpeg (apt, brew or conda), or write a .gif"
        )
    problem = "it is a folder" if path.is_dir() else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = error.strerror or str(error)
    if problem is None and not os.access(path.parent, os.W_OK | os.X_OK):
        problem = "its folder is write-protected"
    if problem is not None:
        raise PcpinnError(f"cannot write {path}: {problem}", "choose another place with --out")


def write_movie(path: Path, pictures: Iterable[np.ndarray], fps: float, colours: np.ndarray) -> None:
    """Write the file whole or not at all.

    Args:
        path: as `check_movie` took it.
        pictures: (height, width, 3) uint8 arrays, all of one size.
        fps: pictures per second.
        colours: (k, 3) from 0 to 1, k <= 190: what a .gif holds beside greys.
    """
    data = _gif(pictures, fps, colours) if path.suffix.lower() == ".gif" else _mp4(pictures, fps)
    write_atomically(path, data)


def _gif(pictures: Iterable[np.ndarray], fps: float, colours: np.ndarray) -> bytes:
    """One palette for all and no dithering: still parts stay still, and files small."""
    greys = np.repeat(np.linspace(0, 1, _GREYS)[:, None], 3, axis=1)
    palette = np.round(255 * np.concatenate([colours, greys])).astype(np.uint8)
    nearest = cKDTree(palette)
    number = np.full(1 << 24, -1, dtype=np.int16)  # of the nearest in the palette, for the colours met so far
    frames = []
    for picture in pictures:  # pillow's own choice of colours turns white grey
        packed = picture.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.uint32)
        new = np.unique(packed[number[packed] < 0])
        number[new] = nearest.query(np.stack([new >> 16, new >> 8 & 255, new & 255], axis=1))[1]
        frames.append(Image.fromarray(number[packed].astype(np.uint8)))
        frames[-1].putpalette(palette.tobytes())
    ends = np.round(np.arange(len(frames) + 1) * 100 / fps)  # the format counts hundredths of seconds
    durations = (10 * np.diff(ends)).astype(int).tolist()
    out = io.BytesIO()
    frames[0].save(out, format="GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return out.getvalue()


def _mp4(pictures: Iterable[np.ndarray], fps: float) -> bytes:
    """Through a pipe; ffmpeg picks the best encoder that it has for the format."""
    frames = (p[: len(p) // 2 * 2, : p.shape[1] // 2 * 2] for p in pictures)  # encoders want even sizes
    first = next(frames)
    height, width, _ = first.shape
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder, "movie.mp4"), Path(folder, "log")
        command = ["ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
                   "-r", f"{fps:g}", "-i", "pipe:0", "-an", "-pix_fmt", "yuv420p", str(out)]  # fmt: skip
        try:
            with log.open("wb") as told, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=told) as process:
                assert process.stdin is not None
                try:
                    process.stdin.write(first.tobytes())
                    for frame in frames:
                        process.stdin.write(frame.tobytes())
                    process.stdin.close()
                except BrokenPipeError:  # it gave up; its own words follow
                    pass
                except BaseException:
                    process.kill()
                    raise
            if process.returncode == 0:
                return out.read_bytes()
            problem = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or [
                f"code {process.returncode}"
            ]
        except OSError as error:
            problem = [error.strerror or str(error)]
    raise PcpinnError(f"ffmpeg failed: {problem[0]}", "write a .gif instead")
