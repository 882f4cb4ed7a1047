"""What `run` refuses before anything runs, and what it prints about a run, without Spark and Airflow."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from graph_compiler.cli.app import app
from graph_compiler.cli.running.finished_run import FinishedRun, task_words
from graph_compiler.cli.running.first_rows import FirstRows
from graph_compiler.cli.running.run_document import run_json
from graph_compiler.cli.running.run_view import airflow_step, failure_words, preview_table, progress_line, step_words
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.documents.in_process_run import Step
from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.deployment.documents.progress import CurrentStep, ExecutionProgress
from graph_compiler.deployment.documents.report import VERSION, ExecutionReport, Failure, Output, Phase, ThrowableType
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import Attempt
from pipelines.flights import env as flights

ROOT = Path(__file__).parents[2]
FIRST, SECOND = RegionId("with_weather"), RegionId("late_routes")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--limit 3", "--limit needs --until OPERATOR"),
        ("--in-process --count --limit 3", "--limit and --count need --until OPERATOR"),
        ("--watch", "--watch needs --until OPERATOR: a whole run publishes its sinks each time"),
        ("--until kept --watch --json", "--watch is for people: it cannot be combined with --json"),
        ("--until lateness --sort flights", "--sort applies to the rows of a sink"),
        ("--until lateness --limit -1", "for '--limit'"),
        ("--until latenes", "hint: did you mean 'lateness'?"),
        ("--until cancelled_", "has no operator 'cancelled_'"),
        ("--in-process --param late_aftr=3", "hint: did you mean 'late_after'?"),
        ("--in-process --param late_after=x --param late_after=3", "parameter 'late_after' is 'x'"),
        ("--in-process --param late_after --date soon", "parameter 'late_after' has no value"),
        ("--date soon --until latenes", "--date is 'soon'"),
        ("--in-process --date soon", "--date is 'soon'"),
    ],
)
def test_an_invalid_call_runs_nothing(arguments: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, ["run", "flights", *arguments.split()], env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 2
    assert words in done.stderr


def execution(report: ExecutionReport | None) -> Attempt:
    state = ExecutionState.FAILED if report and report.failure else ExecutionState.FINISHED
    return Attempt(
        execution_id="e",
        attempt_number=0,
        state=ExecutionState.RUNNING if report is None else state,
        host="here",
        started=100.0,
        ended=None if report is None else 102.5,
        reason=None,
        report=report,
        progress=None,
    )


def report(failure: Failure | None = None) -> ExecutionReport:
    sink = Output(kind="sink", name="cancelled", location="/out/cancelled", rows=7, bytes=70)
    staged = Output(kind="staged", name="with_weather", location="/s", rows=9, bytes=90)
    count = ContractCount(contract="known", on_violation="warn", rows=9, violations=2)
    return ExecutionReport(
        version=VERSION,
        application_id=None,
        outputs=() if failure else (sink, staged),
        contracts=() if failure else (count,),
        vertices=(),
        actions=(),
        reads=(),
        recomputed=(),
        failure=failure,
    )


def finished(**settings: object) -> FinishedRun:
    given = {
        "run_id": "in_process__2013-01-01",
        "seconds": 3.21,
        "found": {FIRST: (execution(report()),), SECOND: ()},
        "failure": None,
        "preview": None,
        "log": Path("/log"),
        **settings,
    }
    return FinishedRun(compiled=compile_pipeline(flights.pipeline()), **given)  # type: ignore[arg-type]


def test_a_run_prints_one_json_document() -> None:
    preview = FirstRows(name="flown", columns=(("a", "INT"), ("a", "DATE")), rows=[[1, None]], total=2)
    document = json.loads(run_json(finished(preview=preview)))
    assert document == {
        "pipeline": "flights",
        "run_id": "in_process__2013-01-01",
        "state": "FINISHED",
        "seconds": 3.2,
        "failure": None,
        "tasks": [
            {"task": "with_weather", "state": "FINISHED", "attempt": 1, "seconds": 2.5, "vertices": []},
            {"task": "late_routes", "state": "CREATED", "attempt": None, "seconds": None, "vertices": []},
        ],
        "sinks": [{"sink": "cancelled", "rows": 7, "bytes": 70, "path": "/out/cancelled"}],
        "contracts": [
            {
                "contract": "known",
                "rows": 9,
                "violations": 2,
                "on_violation": "warn",
                "total": None,
                "allowed": None,
                "holds": False,
            }
        ],
        "preview": {
            "of": "flown",
            "columns": [{"name": "a", "type": "INT"}, {"name": "a", "type": "DATE"}],
            "rows": [[1, None]],
            "total": 2,
        },
        "log": "/log",
    }
    assert json.loads(run_json(finished(failure="it broke")))["state"] == "FAILED"


def shown(*things: object, width: int = 120) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115  # for the test's life
    console.print(*things)
    console.file.close()
    return console.export_text()


def test_operator_rows_are_shown_in_full_and_sink_rows_as_a_preview() -> None:
    columns = (("share", "DOUBLE"), ("tags", "ARRAY<STRING>"))
    exact = FirstRows(name="o", columns=columns, rows=[[0.0421, ["a"]], [None, None]], total=None)
    for words in ("o: 2 rows", "DOUBLE", "0.0421", '["a"]', "NULL"):
        assert words in shown(preview_table(exact, 120))
    glance = FirstRows(name="o", columns=columns, rows=[[1234.56, None]], total=9, is_glance=True)
    assert "o: 1 of 9 rows" in shown(preview_table(glance, 120))
    assert "1,234.56" in shown(preview_table(glance, 120))
    assert "DOUBLE" not in shown(preview_table(glance, 120))


def test_columns_that_do_not_fit_are_left_out_and_named() -> None:
    columns = tuple((f"o_column_{number}", "string") for number in range(9))
    wide = FirstRows(name="o", columns=columns, rows=[["x" * 60] + ["y"] * 8], total=1, is_glance=True)
    found = shown(preview_table(wide, 81), width=81)
    assert all(len(line) <= 81 for line in found.splitlines() if "not shown" not in line)
    assert "not shown for lack of space: o_column_4" in found
    assert found.count("o_column_3") == 1
    assert found.count("x") == 60
    assert shown(preview_table(wide, 5)).startswith("o: 1 of 1 rows")
    everything = Console(width=1_000_000, record=True, file=StringIO())
    everything.print(preview_table(wide, everything.width))
    whole = everything.export_text()
    assert "not shown" not in whole
    assert "x" * 60 in whole


@pytest.mark.parametrize("is_glance", [True, False], ids=["sink", "operator"])
def test_no_header_is_broken_whatever_the_width(is_glance: bool) -> None:
    names = (
        *("o_orderkey", "o_custkey", "o_orderstatus", "o_totalprice", "o_orderdate"),
        *("o_orderpriority", "o_clerk", "the_column_of_this_name_is_wider_than_most", "o_comment"),
    )
    row = [1, 36901, "O", 173665.47, "1996-01-02", "5-LOW", "Clerk#000000951", "x" * 70, "y" * 90]
    wide = FirstRows(
        name="orders", columns=tuple((name, "string") for name in names), rows=[row], total=1, is_glance=is_glance
    )
    for width in range(20, 260):
        lines = shown(preview_table(wide, width), width=width).splitlines()
        assert max(map(len, lines)) <= width
        header = lines[2].split()
        assert header == list(names[: len(header)]), width
        left_out = "".join("".join(lines).split()).partition("notshownforlackofspace:")[2]
        assert all(name in left_out for name in names[len(header) :])
    assert len(header) == len(names)


def test_rows_without_columns_are_shown_at_any_width() -> None:
    assert "o: 1 of 1 rows" in shown(preview_table(FirstRows(name="o", columns=(), rows=[[]], total=1), 80))


def test_a_run_under_airflow_names_its_step_and_what_it_waits_for() -> None:
    def at(phase: Phase | None) -> Attempt:
        step = None if phase is None else CurrentStep(operator="flown", phase=phase, since=101.0)
        progress = ExecutionProgress(version=1, application_id="a", ui_url=None, current=step, vertices=(), actions=())
        return replace(execution(None), progress=progress)

    done = execution(report())
    assert airflow_step({FIRST: (), SECOND: ()}) is None
    waiting = airflow_step({FIRST: (execution(None),), SECOND: ()})
    assert waiting == "with_weather: waiting for Spark to start"
    assert airflow_step({FIRST: (at(None),), SECOND: ()}) is None
    assert airflow_step({FIRST: (at(Phase.EVALUATE),), SECOND: ()}) is None
    staging = airflow_step({FIRST: (at(Phase.STAGE),), SECOND: ()})
    assert staging == "with_weather · flown: staging rows"
    between = airflow_step({FIRST: (done,), SECOND: ()})
    assert between == "waiting for Airflow to start the next task"
    writing = airflow_step({FIRST: (done,), SECOND: (at(Phase.PREPARE),)})
    assert writing == "late_routes · flown: writing rows"
    at_the_end = airflow_step({FIRST: (done,), SECOND: (done,)})
    assert at_the_end == "waiting for Airflow to end the run"


def test_progress_and_failures_are_readable(tmp_path: Path) -> None:
    assert progress_line(FIRST, ()) is None
    assert progress_line(FIRST, (execution(None),)) == "with_weather: running"
    line = progress_line(FIRST, (execution(report()),))
    assert line == "with_weather: finished, cancelled 7 rows, with_weather 9 rows"
    step = Step(region_id=FIRST, vertex="v", operator="flown", phase=Phase.STAGE, time=0)
    assert step_words(FIRST, step) == "with_weather · flown: staging rows"
    log = tmp_path / "log"
    log.write_text("INFO\npyspark.errors.PySparkRuntimeError: no Java\n")
    words = failure_words("flights", {FIRST: ()}, log, starting="Spark")
    assert words.startswith("pipeline 'flights': Spark failed to start\n  pyspark.errors.PySparkRuntimeError: no Java")
    died = failure_words("flights", {FIRST: (execution(None),)}, log, starting="Spark")
    assert "region 'with_weather': Spark's driver died without a report" in died
    failure = Failure(
        throwable_type=ThrowableType.NON_RECOVERABLE_ERROR, operator="flown", declared_at=None, message="no"
    )
    broken = failure_words("flights", {FIRST: (execution(report(failure)),)}, log, starting="Spark")
    assert broken.startswith("pipeline 'flights', operator 'flown': no\n  region 'with_weather' failed")
    gone = replace(execution(None), state=ExecutionState.FAILED, reason="its application was given up")
    left_out = replace(gone, state=ExecutionState.CANCELED, reason="it was left out")
    given_up = failure_words("flights", {FIRST: (left_out,), SECOND: (gone,)}, log, starting="Spark")
    assert given_up.startswith("pipeline 'flights', region 'late_routes': its application was given up\n")


def test_every_task_is_shown_with_its_vertices() -> None:
    first, second = task_words(compile_pipeline(flights.pipeline()))
    assert (first.id, len(first.vertices), second.id, len(second.vertices)) == (FIRST, 3, SECOND, 10)
