"""`graph-compiler validate`: all problems of all pipelines, and the ways to name pipelines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.cli.diagnosis import missing_packages

ROOT = Path(__file__).parents[2]
HEAD = """
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
env = StreamExecutionEnvironment("{name}")
rows = env.from_source(Csv("/in"), "rows")
"""
GOOD = HEAD + 'rows.sink_to(Parquet("/out/{name}"))\n'
TWO_OF_ONE_NAME = HEAD + (
    'kept = rows.filter("x > 1").name("kept").filter("y > 1").name("kept")\nkept.sink_to(Parquet("/out/same"))\n'
)
UNKNOWN_COLUMNS = """
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
env = StreamExecutionEnvironment("{name}")
rows = env.from_source(Csv("/in", schema="id INT, amount DOUBLE"), "rows")
rows.filter("amuont > 5").name("kept").set_parallelism(0).sink_to(Parquet("/out/{name}")){more}
"""
UNREAD = """idle = env.from_source(Csv("/in/idle.csv"), "idle")
kept = rows.filter("x > 1").name("kept").key_by("x")
split = rows.filter("x > 2", rejects="bad").name("split")
split.get_side_output("bad").filter("x < 9").name("doubled")
"""
TWO_PROBLEMS = HEAD + ('rows.filter("x > :nobody").name("a").set_parallelism(0).sink_to(Parquet("/out"))\n')


def put(project: Path, name: str, text: str) -> Path:
    file = project / "pipelines" / f"{name}.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.format(name=file.stem))
    return file


def validate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", *arguments])


def test_all_problems_of_all_pipelines_are_reported(project: Path) -> None:
    put(project, "good", GOOD)
    put(project, "helpers", "def clean(rows): return rows\n")
    put(project, "wrong", TWO_PROBLEMS)
    put(project, "unloadable", "import json\njson.nothing_of_the_kind\n")
    put(project, "_private", "raise AssertionError('nobody asked')\n")
    done = validate()
    assert done.exit_code == 2
    assert done.stdout == ""
    told = done.stderr
    assert "pipelines/wrong.py: pipeline 'wrong' has 2 problems" in told
    assert "a: its parallelism is 0" in told or "a: parallelism is 0" in told
    assert "nobody" in told
    assert f"declared at {project / 'pipelines' / 'wrong.py'}:5" in told
    assert "pipelines/unloadable.py" in told
    assert "`json.nothing_of_the_kind` raised AttributeError: module" in told
    assert "3 pipelines checked, 3 problems in 2 of them" in told
    assert "helpers" not in told
    assert "Traceback" not in told


def test_success_is_reported(project: Path) -> None:
    put(project, "one", GOOD)
    put(project, "sales/two", GOOD)
    done = validate()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "2 pipelines checked, nothing wrong"
    assert "not checked: whether Spark can read the SQL" in done.stdout


@pytest.mark.parametrize(
    ("more", "others"),
    [
        ("", ["parallelism is 0"]),
        ("\nrows.filter(3)", ["parallelism is 0", "filter was given condition=3"]),
        ("\nenv.from_source(Csv('/b', schema=3), 'b').sink_to(Parquet('/b2'))", ["parallelism is 0", "schema is 3"]),
    ],
)
def test_columns_that_no_input_has_are_reported_beside_all_else(more: str, others: list[str], project: Path) -> None:
    (project / "pipelines" / "wrong.py").write_text(UNKNOWN_COLUMNS.format(name="wrong", more=more))
    done = validate()
    assert done.exit_code == 2
    assert "kept: there is no column 'amuont', which 'amuont > 5' reads\n    allowed: id and amount\n" in done.stderr
    assert "hint: did you mean 'amount'?" in done.stderr
    for words in others:
        assert words in done.stderr


def test_what_was_looked_up_is_counted(project: Path) -> None:
    text = UNKNOWN_COLUMNS.replace("amuont", "amount").replace(".set_parallelism(0)", "")
    (project / "pipelines" / "right.py").write_text(text.format(name="right", more=""))
    put(project, "unknown", HEAD + 'rows.filter("x > 1").sink_to(Parquet("/out/{name}"))\n')
    assert "columns: 1 of 2 were looked up; sources need schema= for the others" in validate().stdout
    put(project, "typed", HEAD + 'rows.filter("x > 1").with_columns(y="x + z").sink_to(Parquet("/out/{name}"))\n')
    assert "types: those of 3 of 4 expressions are known without Spark" in validate().stdout
    found = json.loads(validate("--json").stdout)["pipelines"]
    assert [each["columns"] for each in found][:2] == [{"checked": 1, "unknown": 0}, {"checked": 0, "unknown": 2}]
    assert [each["types"] for each in found][:2] == [{"known": 1, "unknown": 0}, {"known": 1, "unknown": 1}]


@pytest.mark.parametrize("path", ["good", "pipelines.good", "pipelines/good.py", "pipelines"])
def test_a_pipeline_is_named_by_module_file_or_folder(path: str, project: Path) -> None:
    put(project, "good", GOOD)
    assert validate(path, path).stdout.startswith("1 pipeline checked, nothing wrong\n")


def test_a_module_that_is_named_must_declare_a_pipeline(project: Path) -> None:
    put(project, "helpers", "def clean(rows): return rows\n")
    done = validate("helpers")
    assert done.exit_code == 2
    assert "pipelines/helpers.py has no StreamExecutionEnvironment called 'env'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "there is no pipeline in pipelines"),
        (("nope.py",), "there is no file nope.py"),
        (("nope",), "there is neither pipelines/nope.py nor pipelines/nope.yaml"),
    ],
)
def test_a_call_that_checks_nothing_is_refused(arguments: tuple[str, ...], words: str, project: Path) -> None:
    put(project, "helpers", "def clean(rows): return rows\n")
    done = validate(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_missing_and_unimportable_files_do_not_stop_the_others(project: Path) -> None:
    put(project, "good", GOOD)
    put(project, "not-a-name", GOOD)
    done = validate("pipelines", "gone.py", "god")
    assert done.exit_code == 2
    assert "pipelines/not-a-name.py cannot be imported by name" in done.stderr
    assert "there is no file gone.py" in done.stderr
    assert "did you mean 'good'?" in done.stderr
    assert "4 pipelines checked, 3 problems in 3 of them" in done.stderr


@pytest.mark.parametrize("path", ["good", "pipelines/good.py", "pipelines"])
def test_a_package_that_fails_to_import_is_reported(path: str, project: Path) -> None:
    put(project, "good", GOOD)
    (project / "pipelines" / "__init__.py").write_text("1 / 0\n")
    done = validate(path)
    assert done.exit_code == 2
    assert "pipelines/__init__.py:1" in done.stderr


def test_a_module_that_ends_the_program_does_not_pass(project: Path) -> None:
    put(project, "leaving", "import sys\nsys.exit(0)\n")
    done = validate()
    assert done.exit_code == 2
    assert "SystemExit" in done.stderr


def test_a_pipeline_that_cannot_be_deployed_is_a_problem(project: Path) -> None:
    put(project, "endless", 'from graph_compiler import Csv, StreamExecutionEnvironment\n'
        'env = StreamExecutionEnvironment("endless")\n'
        'env.from_source(Csv("/in"), "rows").filter("x > 1")\n')  # fmt: skip
    assert "it has no sink" in validate().stderr


def test_duplicate_names_are_refused_but_reexports_are_not(project: Path) -> None:
    put(project, "first", GOOD.replace("{name}", "same", 1))
    put(project, "again", "from pipelines.first import env\n")
    assert validate().exit_code == 0
    put(project, "second", GOOD.replace("{name}", "same", 1))
    done = validate()
    assert done.exit_code == 2
    assert "pipelines/second.py: pipeline 'same' has 1 problem" in done.stderr
    assert "its name 'same' is already that of" in done.stderr


def test_the_document_has_every_problem_and_nothing_a_module_prints(project: Path) -> None:
    put(project, "good", GOOD + "print('loud')\n")
    file = put(project, "wrong", TWO_PROBLEMS)
    done = validate("--json")
    assert done.exit_code == 2
    good, wrong = json.loads(done.stdout)["pipelines"]
    assert good == {
        "pipeline": "good",
        "file": "pipelines/good.py",
        "problems": [],
        "warnings": [],
        "stores": [],
        "columns": {"checked": 0, "unknown": 0},
        "types": {"known": 0, "unknown": 0},
        "tables": [],
    }
    assert (wrong["pipeline"], wrong["file"]) == ("wrong", "pipelines/wrong.py")
    assert [problem["operator"] for problem in wrong["problems"]] == ["a", "a"]
    assert {(problem["file"], problem["line"]) for problem in wrong["problems"]} == {(str(file), 5)}


def test_neither_airflow_nor_spark_is_imported(project: Path) -> None:
    put(project, "good", GOOD)
    program = (
        f"import sys; sys.path[:0] = [{str(ROOT / 'plugins')!r}]\n"
        "from graph_compiler.cli.app import app\n"
        "app(['validate'], standalone_mode=False)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project,
        env=os.environ | {"PYTHONPATH": ""},  # this project's pipelines/ would come first
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 pipeline checked" in done.stdout
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "graph_compiler" in loaded
    assert not loaded & {"airflow", "pyspark", "py4j"}


def test_the_commit_hook_calls_a_command_that_exists() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entry = next(line for line in hook.splitlines() if line.startswith("  entry: "))
    program, name = entry.removeprefix("  entry: ").split()
    assert program == "graph-compiler"
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0
    assert "pass_filenames: false" in hook  # what a module of functions does wrong shows in others


def test_a_problem_is_reported_for_the_module_that_declares_it(project: Path) -> None:
    text = GOOD + 'rows.filter(3).sink_to(Parquet("/out/other"))\ndef clean(rows): return rows\n'
    put(project, "b_imported", text)
    put(project, "a_importing", "from pipelines.b_imported import clean\n" + GOOD)
    done = validate()
    assert "pipelines/b_imported.py: pipeline 'b_imported' has 1 problem" in done.stderr
    assert "filter was given condition=3" in done.stderr
    assert "2 pipelines checked, 1 problem in 1 of them" in done.stderr


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put another project on PYTHONPATH that also has a pipelines/good.py."""
    folder = tmp_path / "other"
    put(folder, "good", GOOD.replace('"/in"', '"/of/the/other"'))
    monkeypatch.syspath_prepend(folder)
    return folder / "pipelines"


@pytest.mark.parametrize("path", ["good", "pipelines/good.py", "pipelines"])
def test_a_pipelines_package_of_another_project_is_named(path: str, project: Path, other: Path) -> None:
    (other / "__init__.py").touch()
    put(project, "good", GOOD)
    done = validate(path)
    assert done.exit_code == 2
    assert f"pipelines/good.py cannot be imported: 'pipelines' is {other}/__init__.py" in done.stderr
    assert "another project is on PYTHONPATH: write an empty pipelines/__init__.py" in done.stderr


@pytest.mark.parametrize("path", ["good", "pipelines/good.py", "pipelines"])
@pytest.mark.parametrize("packages", [(False, False), (True, False), (True, True)])
def test_this_folders_pipelines_come_before_those_of_another_project(
    packages: tuple[bool, bool], path: str, project: Path, other: Path
) -> None:
    put(project, "good", GOOD + "1 / 0\n")
    for folder, is_package in zip((project / "pipelines", other), packages, strict=True):
        if is_package:
            (folder / "__init__.py").touch()
    assert f"declared at {project}/pipelines/good.py:6" in validate(path).stderr


def test_operators_with_the_same_name_are_a_warning(project: Path) -> None:
    put(project, "same", TWO_OF_ONE_NAME)
    done = validate()
    assert done.exit_code == 0
    assert "pipelines/same.py: warning: kept: an earlier operator has the same name" in done.stderr
    assert "1 pipeline checked, nothing wrong" in done.stdout


def test_streams_that_nothing_reads_are_warnings(project: Path) -> None:
    put(project, "unread", GOOD + UNREAD)
    done = validate("--json")
    assert done.exit_code == 0
    (pipeline,) = json.loads(done.stdout)["pipelines"]
    found = [(one["operator"], one["message"], one["line"]) for one in pipeline["warnings"]]
    first = GOOD.count("\n") + 1
    unread = "nothing reads its rows, and no sink writes them"
    assert found == [
        ("idle", "nothing reads this source", first),
        ("kept", unread, first + 1),
        ("doubled", unread, first + 3),
    ]
    assert {one["hint"] for one in pipeline["warnings"]} == {"apply an operator or a sink to it, or remove it"}


def test_a_relative_source_path_is_a_warning(project: Path) -> None:
    put(project, "near", GOOD.replace('"/in', '"in'))
    done = validate()
    assert done.exit_code == 0
    assert "a relative path: Spark looks for it in the folder its driver was started in" in (done.stderr)


def test_packages_that_this_spark_lacks_are_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "spark/jars").mkdir(parents=True)
    (project / "spark/jars/hadoop-client-api-3.5.0.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(project / "spark"))
    put(project, "lake", HEAD + 'rows.sink_to(Parquet("s3a://lake/{{{{ ds }}}}")).name("out")\n')
    found = validate("lake")
    assert found.exit_code == 0
    words = "warning: out: it writes s3a:, and Spark on this host does not have "
    assert words + "org.apache.hadoop:hadoop-aws:3.5.0" in found.stderr
    packages = '{"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}'
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__SPARK_CONF", packages)
    assert "warning" not in validate("lake").stderr


def test_a_package_is_named_once_for_all_that_need_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(project))
    by_default = HEAD.replace('"{name}"', '"{name}", params={{"out": "s3a://lake"}}') + (
        'rows.filter("x").name("kept").sink_to(Parquet("s3a://lake/kept")).name("first")\n'
        'rows.sink_to(Parquet("{{{{ params.out }}}}/rows")).name("second")\n'
    )
    put(project, "lake", by_default)
    put(project, "pond", by_default)
    found = validate().stderr
    words = "hadoop-aws:VERSION; 'second' needs it, too"
    assert [found.count("warning"), found.count(words)] == [2, 2]
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", "s3a://lake/staging")
    found = validate().stderr
    assert "lake.py and 1 other file: warning: the staging root is in s3a:" in found
    assert found.count("hadoop-aws") == 1


def test_stores_that_only_a_run_can_try_are_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project, "near", GOOD)
    put(project, "lake", GOOD.replace("/out", "s3a://lake/out").replace("/in", "hdfs://nn:8020/in"))
    assert "not checked: whether drivers and executors can use hdfs://nn and s3a://lake;" in (validate().stdout)
    assert "not checked: whether drivers" not in validate("near").stdout
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", "s3a://staging/root")
    (pipeline,) = json.loads(validate("near", "--json").stdout)["pipelines"]
    assert pipeline["stores"] == ["s3a://staging"]


def test_a_staging_root_in_a_bucket_needs_obstore_here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project, "near", GOOD)
    monkeypatch.setattr(missing_packages, "find_spec", lambda _: None)
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", "s3a://staging/root")
    assert (
        "the staging root is in s3a:, and this Python has no obstore\n  hint: pip install 'obstore>=0.9'"
    ) in validate().stderr
