"""README and the page of commands as users follow them: Python runs; commands run, or are followed to where the work begins."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import typer

import pcpinn as pc
from pcpinn.catalog import CATALOG, INVERSE
from pcpinn.cli import main
from pcpinn.cli.app import app
from pcpinn.precondition import PRECONDITIONERS
from pcpinn.solve.method import REGISTRIES
from pcpinn.solve.settings import canonical_value
from pcpinn.study import STUDIES

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
COMMANDS = ROOT / "docs" / "reference" / "commands.md"
CHOICES = ROOT / "docs" / "reference" / "choices.md"
STEADY = ROOT / "docs" / "tutorials" / "steady.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

SMALLER = {"accuracy=1e-3)": "mesh=pc.Meshing(size=0.2), iterations=8, width=10)"}


def python_blocks():
    """Each block of README, made smaller where it would take more than a few seconds."""
    text = README.read_text()
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        for long, short in SMALLER.items():
            block = block.replace(long, short)
        yield block


def test_python_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert all(long in README.read_text() for long in SMALLER)
    names: dict = {}
    after = []
    for code in python_blocks():
        exec(compile(code, str(README), "exec"), names)
        after.append(dict(names))
    holes, heat = after
    assert holes["solution"]([[0.0, 0.0]]) == pytest.approx(0.234, abs=0.02)
    assert holes["solution"].errors["estimate"] < 0.2
    assert (tmp_path / "u.png").exists()
    assert heat["solution"].verdict.reached


def test_it_is_short_and_begins_with_two_commands():
    lines = README.read_text().splitlines()
    assert len(lines) <= 150
    assert [line.split()[:2] for line in lines if line.startswith("    ")][:2] == [["make", "demo"], ["make", "test"]]


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text())
    assert len(links) > 30
    assert not [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]


def plate():
    """The file of the first tutorial."""
    (code,) = [
        b for b in re.findall(r"```python\n(.*?)```", STEADY.read_text(), flags=re.DOTALL) if "def problem(" in b
    ]
    return code


def test_the_plate_has_all_conditions():
    names: dict = {}
    exec(compile(plate(), str(STEADY), "exec"), names)
    assert names["problem"](0.8).boundary.keys() == {"left", "bottom", "right", "step", "top"}


@pytest.fixture
def gauss_seidel():
    """The preconditioner that CONTRIBUTING shows, registered for a while."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)
    exec(compile(code, "CONTRIBUTING.md", "exec"), {})
    yield
    PRECONDITIONERS.discard("gauss-seidel")


@pytest.mark.usefixtures("gauss_seidel")
def test_the_preconditioner_of_contributing_runs():
    problem = pc.Problem(
        pc.Interval(0, 1, name="ends"), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
        boundary={"ends": pc.Dirichlet(0.0)},
    )  # fmt: skip
    solution = pc.solve(problem, cells=6, preconditioner="gauss-seidel", factor=1.2, iterations=2, certify=False)
    assert solution.result["preconditioner"]["factor"] == 1.2
    assert solution.result["optimiser"] == "adam"


def command_lines(page):
    """The indented lines of a page that call pcpinn, without comments, as lists of arguments."""
    text = page.read_text().replace("\\\n", " ")
    for line in re.findall(r"^    (pcpinn .*)$", text, flags=re.MULTILINE):
        for command in line.split("#")[0].split(";"):
            yield shlex.split(command)[1:]


def parse(arguments):
    """The command that a line calls, its options read as the command line reads them but not carried out."""
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        if command.invoke_without_command and arguments[0].startswith("-"):
            break  # bench --suite ..., beside bench status
        name, *arguments = arguments
        assert name in command.commands, f"pcpinn has no command {name!r}"
        command = command.commands[name]
    return command.make_context(command.name, list(arguments))


NET = ("--set", "width=8", "--set", "depth=1", "--set", "iterations=3")
RUN = {  # lines that are carried out, with what makes them small
    "list": (),
    "show poisson2d-c": (),
    "show gs --method lra --preset pinnacle": (),
    "settings": (),
    "reproduce": (),
    "solve plate.py --accuracy 1e-3": ("--set", "time_limit=30"),
    "solve plate.py --preset fine --set a=0.8 --out runs/plate-fine": (*NET, "--set", "size=0.5", "--set", "degree=1"),
    "export runs/plate --to vtu": (),
    "solve wave1d-c --set cells=20 --set optimiser=adam --set learning_rate=3e-3":
        (*NET, "--set", "cells=4", "--set", "steps=16", "--set", "feature_count=2", "--out", "DIR"),
    "solve poisson2d-c --method pinn --set hard=true":
        (*NET, "--set", "size=0.2", "--set", "collocation=40", "--set", "feature_count=1"),
    "prepare poisson2d-c --out c.pcpinn": ("--set", "size=0.2", "--set", "degree=1"),
    "resume DIR": ("--set", "iterations=4"),
    "plot DIR": (),
    "export DIR --to vtu": (),
    "evaluate DIR --points points.csv": (),
    "plot DIR --animate": ("--frames", "2"),
    "export DIR --to pvd": ("--frames", "2"),
}  # fmt: skip
PARSED = {"report b", "solve poisson2d-c --reference DIR"}  # need what is not here
WORK = (
    ("app", "carry_out"), ("app", "write_prepared"), ("bench", "run_plan"), ("condition", "condition_number"),
    ("doctor", "diagnose"), ("infer", "carry_out"), ("study", "conduct"), ("reference", "_compute"), ("reproduce", "prepare"),
)  # fmt: skip


class WorkBeginsError(Exception):
    """Raised in place of the work of a command: all that was asked for has been understood."""


def follow(arguments):
    """Carry a command out, but for its work; whatever it refuses ends in another exception or exit code."""
    with pytest.MonkeyPatch.context() as patch:
        for module, function in WORK:
            patch.setattr(import_module(f"pcpinn.cli.{module}"), function, begin)
        with pytest.raises(WorkBeginsError):
            main(list(arguments))


def begin(*_, **__):
    raise WorkBeginsError


def test_command_lines_run(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("plate.py").write_text(plate())
    Path("points.csv").write_text("0.3,0.1\n0.5,0.2\n")
    lines = list(command_lines(COMMANDS))
    assert {" ".join(line) for line in lines} >= RUN.keys() | PARSED
    for line in lines:
        parse(line)
        text = " ".join(line)
        if text in RUN:
            with pytest.raises(SystemExit) as stop:
                main([*line, *RUN[text]])
            output = capfd.readouterr()
            assert not stop.value.code, f"pcpinn {text}: {output.err}"
        elif text not in PARSED:
            follow(line)
    assert {p.name for p in Path("runs").iterdir()} >= {"plate", "plate-fine"}
    assert Path("DIR/solution.gif").exists()
    assert Path("DIR/solution.pvd").exists()


@pytest.mark.parametrize(
    "line", ["solve poisson1d --set conditions=hard", "solve poisson1d --set mesh_size=0.1", "infer poisson-inv --set depht=2",
             "bench --suite liner", "bench --problems poisson1d --set march=1", "study wave --set steps=3"],
)  # fmt: skip
def test_wrong_keys_are_noticed(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        follow(line.split())
    assert stop.value.code == 2


@pytest.mark.parametrize("line", ["solve poisson1d --sed 3", "slove poisson1d", "reference chek heat2d-vc"])
def test_wrong_options_are_noticed(line):
    with pytest.raises(Exception, match=r"No such option|has no command"):
        parse(line.split())


PLACEHOLDERS = re.compile(r"NAME|DIR|PRESET|\$|FILE")


@pytest.mark.usefixtures("gauss_seidel")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_and_keys_of_all_pages_exist(page):
    text = page.read_text().replace("\\\n", " ")
    for line in command_lines(page):
        if not PLACEHOLDERS.search(" ".join(line)):
            parse(line)
    keys = re.findall(r"--set\s+([\w.]+)=([^\s`'\")]+)", text) + re.findall(r"`(\w+)=([a-z0-9.e-]+)`", text)
    wrong = [f"{key}={value}" for key, value in keys if not known(key, value)]
    assert not wrong, f"{page.name} names settings that do not exist: {wrong}"


def known(key, value):
    """Whether a setting, a parameter of some problem, or a size of some study fits."""
    parameters = {name for entries in (CATALOG, INVERSE) for e in entries for name in e.parameters} | {"a"}
    sizes = {name for study in STUDIES for name in (*study.small, *study.full)}
    if key in parameters | sizes or key == "key" or value in ("V", "VALUE", "...", "N", "ssor"):
        return True
    try:
        canonical_value(key, value)
    except Exception:
        return False
    return True


def test_the_table_of_slots_is_that_of_the_program():
    """The table of choices names every slot but `run`, and recipes by what they are called."""
    table = CHOICES.read_text().split("| slot |")[1].split("\n\n")[0]
    slots = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])[:2]}
    assert slots == set(REGISTRIES) - {"run"}
    keys = {k for registry in REGISTRIES.values() for recipe in registry for k in recipe.schema()}
    assert {k for k in re.findall(r"`([a-z_]+)`", table) if k not in REGISTRIES} <= keys
