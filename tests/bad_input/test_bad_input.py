"""Declarations with a mistake, and the message for each: one file for each case, with the message at its end.

To add one, put a file (.py or .yaml) into the folder of its subject, named after the mistake, and run this with
`--update-golden`: it writes the output of `validate` below the case. Read it. It must name the pipeline, the operator,
where it was declared, what was found, what is allowed, and a hint; and report all problems of a file at once.

Each case runs in a project with the modules of project/. Cases that no file can show (bytes, sizes) are below.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from graph_compiler.cli.app import app

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MARK = "# graph-compiler validate says:\n"
FOLDERS = (
    *("functions", "names", "operators", "options"),
    *("schedule", "sinks", "sources", "streams", "syntax"),
)
CASES = sorted(path for folder in FOLDERS for path in (HERE / folder).iterdir() if path.is_file())
MACHINE = re.compile(r"0x[0-9a-f]{6,}|site-packages|/usr/|/root/|/home/")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Change to a project, without access to this project's pipelines; its imports are removed afterwards."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(HERE / "project", folder, dirs_exist_ok=True)
    ours = _forget_pipelines()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [entry for entry in sys.path if Path(entry) != ROOT])
        yield folder
    _forget_pipelines()
    sys.modules.update(ours)


def _forget_pipelines() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] == "pipelines"]
    return {name: sys.modules.pop(name) for name in names}


def said_of(file: Path, project: Path) -> str:
    """Return the output of `validate` for a file, with paths relative to the project; the exit code must be 2."""
    _forget_pipelines()
    done = CliRunner().invoke(app, ["validate", str(file.relative_to(project))])
    assert done.exit_code == 2, done.output or done.exception
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    *words, counted = done.stderr.replace(f"{project}/", "").splitlines(keepends=True)
    assert counted.startswith("1 pipeline checked, ")
    said = "".join(words)
    assert "Traceback" not in said
    assert said.startswith(f"{file.relative_to(project)}: pipeline '")
    return said


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_each_mistake_has_the_expected_message(
    case: Path, project: Path, request: pytest.FixtureRequest
) -> None:
    declared, _, expected = case.read_text().partition(MARK)
    file = project / "pipelines" / case.name
    file.write_text(declared)
    said = said_of(file, project)
    file.unlink()
    if request.config.getoption("--update-golden"):
        lines = "".join(f"# {line}".rstrip() + "\n" for line in said.splitlines())
        case.write_text(f"{declared}{MARK}{lines}")
        return
    assert said == "".join(
        line.removeprefix("#").removeprefix(" ") for line in expected.splitlines(keepends=True)
    )


def test_the_corpus_is_large_and_of_both_kinds() -> None:
    kinds = [case.suffix for case in CASES]
    assert min(kinds.count(".py"), kinds.count(".yaml")) >= 60


def test_messages_name_the_file_and_no_absolute_path() -> None:
    said = {case: case.read_text().partition(MARK)[2] for case in CASES}
    problems = {case: len(re.findall(r"^#   \S", text, re.MULTILINE)) for case, text in said.items()}
    assert [case for case, text in said.items() if text.count("declared at pipelines/") < problems[case]] == []
    assert [case for case, text in said.items() if MACHINE.search(text)] == []


BYTES = {
    "utf_16": ("name: sales\n".encode("utf-16"), "is not UTF-8 text: byte 0 is 0xff"),
    "binary": (bytes(range(200, 256)) * 10, "is not UTF-8 text: byte 0 is 0xc8"),
    "latin_1": ("name: größe\n".encode("latin-1"), "is not UTF-8 text: byte 8 is 0xf6"),
    "zeros": (b"\0" * 100, "not valid YAML: it contains the character #x0000"),
    "too_large": (b"#" * 4_000_001, "it has more than 4000000 bytes"),
    "too_long": (b"name: sales\n" + b"# x\n" * 300_000, "it has 1200012 characters"),
}


@pytest.mark.parametrize(("content", "words"), BYTES.values(), ids=BYTES)
def test_random_bytes_are_not_a_yaml_pipeline(content: bytes, words: str, project: Path) -> None:
    file = project / "pipelines" / "bytes.yaml"
    file.write_bytes(content)
    said = said_of(file, project)
    assert words in said
    file.unlink()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("env = 1\n".encode("utf-16"), "not valid Python: "),
        (b"\0\0", "not valid Python: source code "),
        (b"name = 'gr\xf6\xdfe'\n", "not valid Python: (unicode error) 'utf-8' codec"),
    ],
    ids=["utf_16", "zeros", "latin_1"],
)
def test_random_bytes_are_not_a_python_pipeline(content: bytes, words: str, project: Path) -> None:
    file = project / "pipelines" / "bytes_of_a_module.py"
    file.write_bytes(content)
    said = said_of(file, project)
    assert words in said
    assert "declared at pipelines/bytes_of_a_module.py" in said
    file.unlink()


def test_a_module_and_a_file_of_the_same_name_are_refused(project: Path) -> None:
    for suffix in (".py", ".yaml"):
        (project / "pipelines" / f"twice{suffix}").write_text("")
    done = CliRunner().invoke(app, ["validate", "twice"])
    assert done.exit_code == 2
    assert "there are pipelines/twice.py and pipelines/twice.yaml\n    allowed: one" in done.stderr


IN_A_PROCESS = (
    *("names/two_operators_with_one_uid.py", "functions/a_lambda.py", "names/a_cycle.py"),
    *("syntax/a_misspelt_method.py", "syntax/nothing_declared.py", "options/a_misspelt_option.py"),
    *("syntax/a_syntax_error.py", "syntax/several_problems.yaml", "syntax/a_tab.yaml"),
)
AND_SAY_WHAT_WAS_LOADED = """
import atexit, sys
atexit.register(lambda: print({"airflow", "pyspark"} & set(sys.modules), file=sys.stderr))
from graph_compiler.__main__ import main
main()
"""


@pytest.mark.parametrize("command", ["validate", "explain", "run"])
def test_every_command_exits_with_2_and_leaves_no_files(
    command: str, tmp_path: Path
) -> None:
    shutil.copytree(HERE / "project", tmp_path, dirs_exist_ok=True)
    cases = [HERE / case for case in (IN_A_PROCESS if command == "validate" else IN_A_PROCESS[:4])]
    for case in cases:
        declared, _, expected = case.read_text().partition(MARK)
        file = tmp_path / "pipelines" / case.name
        file.write_text(declared)
        done = subprocess.run(
            [sys.executable, "-c", AND_SAY_WHAT_WAS_LOADED, command, f"pipelines/{case.name}"],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'plugins'}",
                "AIRFLOW_HOME": str(tmp_path / "home"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, done.stdout + done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        assert done.stderr.endswith("set()\n")
        problem = expected.splitlines()[1].removeprefix("#   ")
        assert problem in done.stderr.replace(f"{tmp_path}/", "")
        assert not (tmp_path / "home").exists()


def test_the_json_document_has_the_same_message(project: Path) -> None:
    declared = (HERE / "syntax" / "several_problems.yaml").read_text().partition(MARK)[0]
    file = project / "pipelines" / "several_problems.yaml"
    file.write_text(declared)
    done = CliRunner().invoke(app, ["validate", "--json", "pipelines/several_problems.yaml"])
    (pipeline,) = json.loads(done.stdout)["pipelines"]
    places = [(one["operator"], one["key"], one["line"]) for one in pipeline["problems"]]
    assert places == [
        ("paid", None, 5),
        ("paid", None, 5),
        ("both", "steps[1].how", 6),
        ("after 'orders'", "steps[3]", 8),
        ("aggregated", None, 9),
        ("b", None, 12),
        ("c", "sinks.c.mode", 13),
    ]
    assert {one["file"] for one in pipeline["problems"]} == {"pipelines/several_problems.yaml"}
    file.unlink()
