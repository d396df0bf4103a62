"""Windows and macOS, as far as that can be seen from here: nothing of POSIX alone is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pcpinn

ROOT = Path(pcpinn.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ABSENT = ("resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "syslog")  # on Windows
ONLY_POSIX = {
    "os": {
        "fork",
        "getuid",
        "geteuid",
        "getgid",
        "killpg",
        "setsid",
        "setpgrp",
        "nice",
        "uname",
        "wait",
        "mkfifo",
        "chown",
    },
    "signal": {"SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGHUP", "SIGQUIT", "alarm", "setitimer", "pthread_kill"},
}
SLURM = "cluster"  # runs where Slurm does, which is no Windows


def attributes(path):
    """(line, module, name) of all module.name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.lineno, node.value.id, node.attr


@pytest.mark.parametrize("path", FILES, ids=lambda p: "/".join(p.relative_to(ROOT).parts))
def test_no_calls_of_posix_alone(path):
    if path.relative_to(ROOT).parts[0] == SLURM:
        return
    found = [f"{path.name}:{line} {m}.{name}" for line, m, name in attributes(path) if name in ONLY_POSIX.get(m, ())]
    assert not found


def test_calls_are_seen():
    assert any((m, n) == ("signal", "SIGUSR2") for path in (ROOT / SLURM).glob("*.py") for _, m, n in attributes(path))


def test_no_process_is_made_by_forking():
    """Workers are programs of their own (python -m ...), which start alike everywhere."""
    texts = {p: p.read_text(encoding="utf-8") for p in FILES}
    assert not [p for p, text in texts.items() if "multiprocessing" in text or "ProcessPool" in text]


def test_everything_is_imported_without_modules_of_posix():
    code = f"""
import sys
for name in {ABSENT!r}:
    sys.modules[name] = None
import importlib, pkgutil, pcpinn, pcpinn_command, pcpinn.cli.app
assert "scipy.stats" not in sys.modules, "every command line would wait for it"
names = [m.name for m in pkgutil.walk_packages(pcpinn.__path__, "pcpinn.") if not m.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
from pcpinn.lock import lock_folder, try_lock
from pathlib import Path
assert lock_folder(Path(".")) is None and try_lock(0)
from pcpinn.environment import peak_memory
import torch
assert peak_memory(torch.device("cpu"))["host_gib"] is None
print(len(names))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 400


def plain_text(node):
    """Whether a call reads or writes text without saying in which encoding."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    wanted = {"read_text": 0, "write_text": 1}.get(node.func.attr)
    return wanted is not None and len(node.args) == wanted and not any(k.arg == "encoding" for k in node.keywords)


def test_text_is_written_with_an_encoding():
    """Windows has another one by default. Files of the system itself (/proc) are plain ASCII."""
    trees = {p: ast.parse(p.read_text(encoding="utf-8")) for p in FILES if p.name != "environment.py"}
    assert not [
        f"{p.relative_to(ROOT)}:{n.lineno}" for p, tree in trees.items() for n in ast.walk(tree) if plain_text(n)
    ]
