"""The shape of the source: imports go one way, inside rooms too, and every module says what it is."""

import ast
from pathlib import Path

import pytest

import pcpinn

ROOT = Path(pcpinn.__file__).parent
ROOMS = ("problem", "mesh", "discretize", "precondition", "network", "train", "strong", "solution", "solve", "invert",
         "family", "condition", "catalog", "baselines", "cluster", "bench", "study", "reproduce", "cli")  # fmt: skip
FREE = (
    "errors",
    "files",
    "progress",
    "environment",
    "clock",
    "checkpoint",
    "recipes",
    "terminal",
    "interrupt",
    "lock",
    "notebook",
    "trackers",
)  # may be imported by all rooms
FILES = sorted(ROOT.rglob("*.py"))


def module_of(path):
    """Dotted parts below the package: ("solve", "run")."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imported(path):
    """(line, dotted parts below the package) of every import of the package's own modules, wherever it stands."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first, *rest = alias.name.split(".")
                if first == "pcpinn":
                    yield node.lineno, tuple(rest)
        elif isinstance(node, ast.ImportFrom):
            parts = tuple(node.module.split(".")) if node.module else ()
            if node.level == 0:
                if parts[:1] != ("pcpinn",):
                    continue
                base = parts[1:]
            else:
                base = package[: len(package) - node.level + 1] + parts
            for alias in node.names if not base else [None]:  # from . import x, at the top
                yield node.lineno, base or (alias.name,)


@pytest.mark.parametrize("path", FILES, ids=lambda p: "/".join(p.relative_to(ROOT).parts))
def test_imports_go_one_way(path):
    """No module imports a room to the right of its own."""
    own = module_of(path)
    if not own or own == ("__main__",):
        return
    room = own[0]
    for line, parts in imported(path):
        target = parts[0] if parts else None
        where = f"{path.relative_to(ROOT)}:{line} imports {'.'.join(parts) or 'the whole package'}"
        assert target is not None, where
        if target in FREE:
            continue
        if room in FREE:
            pytest.fail(where)
        if target in ROOMS:
            assert ROOMS.index(target) <= ROOMS.index(room), where
        elif room != "cli":  # the package's own names, such as __version__
            pytest.fail(where)


def test_every_room_is_known():
    here = {p.name for p in ROOT.iterdir() if p.is_dir() and any(p.glob("*.py"))}
    assert here <= set(ROOMS)
    assert {p.stem for p in ROOT.glob("*.py")} - {"__init__", "__main__"} == set(FREE)


def edges():
    """module -> modules of the package that it imports, wherever the import stands: in functions and for types, too."""
    modules = {module_of(path): path for path in FILES}
    result = {}
    for own, path in modules.items():
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.level == 0:
                continue
            package = path.relative_to(ROOT).parent.parts
            base = package[: len(package) - node.level + 1] + (tuple(node.module.split(".")) if node.module else ())
            inner = {(*base, alias.name) for alias in node.names} & set(modules)
            found |= inner or ({base} & set(modules))
        result[own] = found - {own}
    return result


def circle(graph):
    """Some modules that import each other in a circle, or None."""
    state = {}

    def visit(module, trail):
        state[module] = "open"
        for target in sorted(graph.get(module, ())):
            if state.get(target) == "open":
                return [*trail[trail.index(target) :], target]
            if target not in state:
                found = visit(target, [*trail, target])
                if found:
                    return found
        state[module] = "done"
        return None

    for module in graph:
        if module not in state:
            found = visit(module, [module])
            if found:
                return [".".join(m) for m in found]
    return None


def test_no_circles():
    assert circle(edges()) is None


def test_circles_are_found():
    assert circle({("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("a",)}}) == ["a", "b", "c", "a"]
    assert circle({("a",): {("b",)}, ("b",): set()}) is None


def test_the_check_sees_imports(tmp_path):
    """Of each kind, in functions too."""
    found = {parts for path in FILES if path.name == "solution.py" for _, parts in imported(path)}
    assert {("mesh", "slab_mesh"), ("errors",), ("solution", "animation"), ("train", "history")} <= found


@pytest.mark.parametrize("path", FILES, ids=lambda p: "/".join(p.relative_to(ROOT).parts))
def test_modules_are_described(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), "no docstring"


def test_no_module_is_called_utils():
    vague = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}
    assert not [p for p in FILES if p.stem in vague or p.parent.name in vague]
