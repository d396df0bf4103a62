"""The program before anything large is imported: the same pages, at once."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import pcpinn_command
from pcpinn.cli.app import app


def test_both_pages_of_help_are_the_same(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    runner = CliRunner()
    pages = [runner.invoke(one, ["--help"], prog_name="pcpinn").output for one in (pcpinn_command._outline(), app)]
    assert pages[0] == pages[1]
    assert "--version" in pages[0]


CODE = """
import sys, time
sys.argv = ["pcpinn", *{args!r}]
import pcpinn_command
try:
    pcpinn_command.main()
except SystemExit as end:
    assert end.code in (None, 0) or len(sys.argv) == 1
print("torch" in sys.modules, "pcpinn" in sys.modules, time.process_time())
"""


@pytest.mark.parametrize(("args", "words"), [(["--help"], "solve"), ([], "solve"), (["--version"], "pcpinn ")])
def test_help_and_version_import_nothing_large(args, words):
    done = subprocess.run([sys.executable, "-c", CODE.format(args=args)], capture_output=True, text=True, check=False)
    assert words in done.stdout, done.stderr
    torch, package, seconds = done.stdout.splitlines()[-1].split()
    assert (torch, package) == ("False", "False")
    assert float(seconds) < 2  # 0.3 to 0.5 here; with torch 3 and more


def test_other_words_go_to_the_commands(monkeypatch):
    called = []
    monkeypatch.setattr("pcpinn.cli.main", lambda: called.append(sys.argv[1:]))
    for words in (["show", "poisson1d"], ["solve", "--help"], ["--quiet", "list"]):
        monkeypatch.setattr(sys, "argv", ["pcpinn", *words])
        pcpinn_command.main()
    monkeypatch.setattr(sys, "argv", ["pcpinn"])
    monkeypatch.setenv("_PCPINN_COMPLETE", "complete_bash")  # shells ask without words, too
    pcpinn_command.main()
    assert called == [["show", "poisson1d"], ["solve", "--help"], ["--quiet", "list"], []]
