"""What happens to files: cut, flipped, spliced, overwritten with what is odd or hostile."""

import json
import os
import pickle
from pathlib import Path

ODD_NUMBERS = (0, -1, 1, 2**31, 2**63, -(2**63), 1e308, -1e308, 1e-320, 0.5, float("nan"), float("inf"))
ODD_VALUES = (
    *ODD_NUMBERS,
    None,
    True,
    "",
    "x" * 5000,
    "../../evil",
    "/etc/passwd",
    "a\0b",
    "ä\n",
    [],
    {},
    [[]],
    {"a": {}},
)


class Bomb:
    """A pickle that leaves a trace if it is opened as one."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def damage_bytes(random, path):
    """One of the plain ways to break a file; its name."""
    data = path.read_bytes()
    kind = random.choice(("cut", "flip", "fill", "splice", "repeat", "insert", "noise", "empty", "zeros"))
    if kind == "cut":
        data = data[: random.randrange(len(data) + 1)]
    elif kind in ("flip", "fill"):
        changed = bytearray(data)
        for _ in range(random.choice((1, 2, 8, 64))):
            if changed:
                at = random.randrange(len(changed))
                changed[at] = changed[at] ^ (1 << random.randrange(8)) if kind == "flip" else random.randrange(256)
        data = bytes(changed)
    elif kind == "splice":
        a, b = sorted(random.randrange(len(data) + 1) for _ in range(2))
        data = data[:a] + data[b:]
    elif kind == "repeat":
        a, b = sorted(random.randrange(len(data) + 1) for _ in range(2))
        data = data[:b] + data[a:]
    elif kind == "insert":
        at = random.randrange(len(data) + 1)
        odd = random.choice(
            (b"\0", b"nan", b"-1", b"99999999999999999999", b"1e400", b"\xff\xfe", b'"', b"{", b",", b"\n")
        )
        data = data[:at] + odd + data[at:]
    else:
        data = {"noise": random.randbytes(500), "empty": b"", "zeros": bytes(len(data))}[kind]
    path.write_bytes(data)
    return kind


def damage_json(random, path):
    """Another value in place of one of those that a JSON file holds; what was done."""
    document = json.loads(path.read_text())
    places = list(_places(document))
    if not places:
        return damage_bytes(random, path)
    owner, key = random.choice(places)
    way = random.choice(("value", "drop", "scale", "swap"))
    if way == "drop" and isinstance(owner, dict):
        del owner[key]
    elif way == "scale" and isinstance(owner[key], int | float) and not isinstance(owner[key], bool):
        owner[key] = owner[key] * random.choice((-1, 0, 2, 1000, 10**9))
    elif way == "swap":
        other, place = random.choice(places)
        owner[key] = other[place]
    else:
        owner[key] = random.choice(ODD_VALUES)
    try:
        path.write_text(json.dumps(document))
    except (ValueError, RecursionError):  # a swap that put a value into itself
        path.write_text("{}")
    return f"{way} at {key}"


def _places(document):
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            yield document, key
            yield from _places(document[key])


def damage_safetensors(random, path):
    """Another value in the header of a tensor file, its data left as they are; what was done."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = path.with_suffix(".header")
    header.write_bytes(data[8 : 8 + size])
    what = damage_json(random, header)
    text = header.read_bytes()
    header.unlink()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
    return f"header: {what}"


def replace_file(random, path, trace):
    """Something else where a file was; what."""
    others = [p for p in path.parent.iterdir() if p.is_file() and p != path]
    kind = random.choice(("gone", "pickle", "folder", "fifo", "other", "endless", "self"))
    path.unlink()
    if kind == "pickle":
        path.write_bytes(pickle.dumps(Bomb(trace)))
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    elif kind == "self":
        path.symlink_to(path.name)
    elif kind == "other" and others:
        path.write_bytes(random.choice(others).read_bytes())
    return kind


def damage(random, path, trace):
    """Any of these that suits the file."""
    path = Path(path)
    ways = [lambda: damage_bytes(random, path), lambda: replace_file(random, path, trace)]
    if path.suffix == ".json":
        ways += [lambda: damage_json(random, path)] * 3
    if path.suffix == ".safetensors":
        ways += [lambda: damage_safetensors(random, path)] * 2
    return random.choice(ways)()
