"""Writing files so that a kill or a full disk leaves the old one usable; reading files that may be broken or hostile."""

from __future__ import annotations

import contextlib
import glob
import json
import math
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as safetensors_bytes

from .errors import PcpinnError
from .lock import claimed, lock_folder


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write beside the target, flush to disk, then rename over it.

    Raises:
        PcpinnError: when the disk is full or the folder cannot be written; the previous file stays.
    """
    payload = data.encode() if isinstance(data, str) else data
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as handle:
            temporary = Path(handle.name)
            handle.write(payload)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise PcpinnError(
            f"cannot write {path}: {error.strerror or error}", "free some space or choose another folder"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def make_folder_of(path: Path) -> None:
    """The folder of a file that is to be written, if it is not there.

    Raises:
        PcpinnError: when it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PcpinnError(f"cannot write {path}: {error.strerror or error}", "choose another place") from error


_LEFT = re.compile(r"\..+\.[a-z0-9_]{8}")  # as `tempfile` calls what it makes beside a target
_OLD = 600.0  # seconds after which nobody is still writing it


def clear_leftovers(folder: Path) -> None:
    """Remove temporary files that a killed process left in a folder; for those who have it to themselves."""
    for path in folder.iterdir():
        if _LEFT.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)


def make_staging(folder: Path) -> tuple[Path, tuple[int, int] | None]:
    """An empty folder beside one that is about to be made, and its lock: what nobody has locked is left over from a kill."""
    while True:
        staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:80]}."))
        with contextlib.suppress(PcpinnError):  # others found it before it was locked, and are removing it
            key = lock_folder(staging)
            if staging.exists():
                return staging, key


def clear_stagings(folder: Path) -> None:
    """Remove what a killed process left beside a folder that it was about to make: empty, or with a run.json.

    At once where locks say that nobody is at work in it, after ten minutes where there are none.
    """
    with contextlib.suppress(OSError):  # others may be at it, too
        for path in folder.parent.glob(f".{glob.escape(folder.name[:80])}.*"):
            if not _LEFT.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
                continue
            with claimed(path) as nobodys:
                names = {p.name for p in path.iterdir()}
                ours = not names or any(name.startswith(("run.json", ".run.json.")) for name in names)
                if ours and (nobodys or time.time() - path.stat().st_mtime > _OLD):
                    shutil.rmtree(path, ignore_errors=True)


def _umask() -> int:
    """The permissions that new files lack; temporary files would otherwise stay private to their owner."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> None:
    """Arrays and plain data in one safetensors file, atomically."""
    arrays = {k: np.asarray(v, order="C") for k, v in tensors.items()}  # ascontiguousarray makes (1,) of ()
    write_atomically(path, safetensors_bytes(arrays, {"pcpinn": json.dumps(metadata)}))


_LARGEST_TEXT = 256 * 2**20  # bytes; a record has a few thousand, a history some millions


def require_plain(path: Path, largest: float = math.inf) -> None:
    """Refuse anything but a plain file of reasonable size: a pipe would hang its reader, a device fill the memory.

    Raises:
        PcpinnError: for these.
        OSError: where there is nothing at all.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise PcpinnError(
            f"{path} cannot be read: it is not a plain file", "give the folder of a run as it was written"
        )
    if found.st_size > largest:
        raise PcpinnError(f"{path} cannot be read: it has {found.st_size} bytes", "it is damaged, or not one of ours")


def read_plain_text(path: Path) -> str:
    """The text of a plain file, UTF-8."""
    require_plain(path, _LARGEST_TEXT)
    return path.read_text(encoding="utf-8")


def read_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Inverse of `write_tensors`; the format holds numbers and text only, so nothing in it can run."""
    try:
        require_plain(path)
        with safe_open(path, framework="numpy") as file:
            metadata = json.loads((file.metadata() or {}).get("pcpinn", "null"))
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise PcpinnError(f"{path} does not exist", "is this the folder of a finished or interrupted run?") from None
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise PcpinnError(
            f"{path} cannot be read: {error}", "the file is damaged or not one of ours; run the solve again"
        ) from error
    if not isinstance(metadata, dict):
        raise PcpinnError(f"{path} was not written by pcpinn", "give the folder of a run")
    return tensors, metadata


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Indented JSON, atomically."""
    write_atomically(path, json_text(data, indent=2) + "\n")


def json_text(data: Mapping[str, Any], indent: int | None = None) -> str:
    """A record as JSON, whatever came out: numbers that are not finite are null, and `not_finite` says where and what they were.

    A result is worth keeping though a part of it overflowed, and JSON has no word for infinity.
    """
    lost: dict[str, str] = {}
    record = _finite(data, "", lost)
    return json.dumps({**record, "not_finite": lost} if lost else record, indent=indent, allow_nan=False)


def _finite(value: Any, place: str, lost: dict[str, str]) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        lost[place] = str(float(value))
        return None
    if isinstance(value, Mapping):
        return {k: _finite(v, f"{place}.{k}" if place else str(k), lost) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v, f"{place}[{i}]", lost) for i, v in enumerate(value)]
    return value


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from disk."""
    try:
        data = json.loads(read_plain_text(path))
    except FileNotFoundError:
        raise PcpinnError(f"{path} does not exist", "is this the folder of a finished or interrupted run?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise PcpinnError(f"{path} cannot be read: {error}", "the file is damaged; run the solve again") from error
    if not isinstance(data, dict):
        raise PcpinnError(f"{path} does not hold a JSON object", "the file is damaged; run the solve again")
    return data
