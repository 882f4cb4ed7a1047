"""The harness resumes where it stopped, and its table lists the problems."""

from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.graphs.execution import ExecutionState
from tests.faults.cases import Case
from tests.faults.facts import Attempt, Facts, leftovers, outcome, problems
from tests.faults.plan import Fault, Point
from tests.faults.results import Result, Results

pytestmark = pytest.mark.spark  # the workloads import duckdb

RESULT = Result(
    case="a",
    workload="flights",
    fault=Fault.NONE,
    point=Point.BEFORE_WORK,
    region="",
    lost=(),
    run_id="a.1",
    seconds=20.0,
    outcome="success",
    rerun=(),
    recomputed=(),
    beside=(),
    problems=(),
)
KILLED = replace(
    RESULT,
    case="b",
    fault=Fault.KILL_JVM,
    region="late_routes",
    run_id="b.1",
    seconds=31.0,
    rerun=("late_routes",),
    problems=("rows: too many",),
)
FINISHED = Attempt(state=ExecutionState.FINISHED, reason="", recomputed=())
DIED = Attempt(state=ExecutionState.FAILED, reason="exit code -9", recomputed=())
CASE = Case(workload="flights", fault=Fault.KILL_JVM, point=Point.MID_PUBLISH, region="late_routes", seed=1)
FACTS = Facts(
    fired=True,
    state="success",
    attempts={"with_weather": (FINISHED,), "late_routes": (DIED, FINISHED)},
    cleared={},
    rows="",
    beside=(),
    alive=0,
)
LOST = replace(CASE, fault=Fault.TRUNCATE, point=Point.BEFORE_WORK, lost=("with_weather",))


def test_finished_cases_are_read_back(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert results.load() == {}
    results.add(RESULT)
    results.add(KILLED)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"case": "c", "work')  # the harness was killed here
    assert Results(tmp_path).load() == {"a": RESULT, "b": KILLED}
    again = replace(KILLED, problems=())
    results.add(again)
    assert Results(tmp_path).load() == {"a": RESULT, "b": again}


def test_the_table_shows_extra_time_and_problems(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.add(RESULT)
    results.add(KILLED)
    text = results.table.read_text()
    assert text.startswith("1 of 2 cases as they must be")
    assert "| late_routes | **success** | late_routes | none | +11 s | 0 |" in text
    assert text.endswith("- `b.1`: rows: too many\n")


def test_a_good_run_has_no_problems() -> None:
    assert list(problems(CASE, FACTS)) == []


def test_every_kind_of_problem_is_found() -> None:
    twice = {"with_weather": (FINISHED, FINISHED), "late_routes": (DIED, FINISHED)}
    assert words(fired=False) == ["no execution of late_routes came to the point"]
    assert words(state="failed") == ["the run ended in failed: no reason"]
    assert words(rows="AssertionError: 3 != 4") == ["rows: AssertionError: 3 != 4"]
    assert words(alive=2) == ["2 processes of the run are still there"]
    assert words(attempts=twice) == ["with_weather ran 2 times; expected: 1 to 1"]
    silent = replace(DIED, reason="")
    assert words(attempts={**FACTS.attempts, "late_routes": (silent, FINISHED)}) == [
        "late_routes #1 is FAILED (no reason) in the history"
    ]


def words(**changed: object) -> list[str]:
    return list(problems(CASE, replace(FACTS, **changed)))  # type: ignore[arg-type]


def test_only_lost_results_are_recomputed_by_their_reader() -> None:
    once = {"with_weather": (FINISHED,), "late_routes": (FINISHED,)}
    recomputed = replace(FINISHED, recomputed=("with_weather",))
    assert list(problems(LOST, replace(FACTS, attempts={**once, "late_routes": (recomputed,)}))) == []
    assert list(problems(LOST, replace(FACTS, attempts=once))) == ["not computed again: with_weather in late_routes"]
    elsewhere = {"with_weather": (recomputed,), "late_routes": (recomputed,)}
    assert list(problems(LOST, replace(FACTS, attempts=elsewhere))) == ["computed again: with_weather in with_weather"]


def test_a_refusal_names_the_cleared_tasks_and_they_run_again() -> None:
    refused = replace(
        FACTS,
        attempts={"with_weather": (FINISHED, FINISHED), "late_routes": (DIED, FINISHED)},
        cleared={"with_weather": 1, "late_routes": 1},
    )
    assert outcome(refused).startswith("refused with a message; with_weather, late_routes cleared")
    assert list(problems(replace(LOST, fault=Fault.LOSE_AND_CHANGE), refused)) == []
    (problem,) = problems(LOST, refused)
    assert problem.startswith("who had read other rows must be cleared, and nobody else")


def test_hidden_files_beside_targets_are_listed(tmp_path: Path) -> None:
    for name in ("a/part-0", "a/_SUCCESS", ".a.graph_compiler/e/part-0"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert leftovers(tmp_path) == (".a.graph_compiler/e/part-0", "a/_SUCCESS")
