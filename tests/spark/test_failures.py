"""What a person reads when a run fails, and that nothing is left half-written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.report import Failure
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


def failure_of(env: StreamExecutionEnvironment, run_pipeline: RunPipeline) -> Failure:
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    return failure


def test_a_missing_input_path(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env.from_source(Csv(f"{tmp_path}/nowhere.csv"), "orders").sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "orders"
    assert failure.message == f"its input file:{tmp_path}/nowhere.csv does not exist"
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"
    assert failure.declared_at is not None
    assert failure.declared_at.file == __file__
    assert not (tmp_path / "out").exists()


def test_a_column_that_does_not_exist(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("carrier,delay\nUA,3\n")
    orders = env.from_source(Csv(f"{tmp_path}/in.csv"), "orders")
    orders.filter("dellay > 3").name("late").sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "late"
    assert failure.message == (
        "there is no column 'dellay'\n  found: carrier and delay\n  hint: did you mean 'delay'?"
    )
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"


@pytest.mark.parametrize("how", ["join", "key_by"])
def test_a_key_that_does_not_exist(
    how: str, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("carrier,delay\nUA,3\n")
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in")
    other = env.from_source(Csv(f"{tmp_path}/in.csv"), "other")
    stream = (
        rows.join(other, on="carier")
        if how == "join"
        else rows.key_by("carier").aggregate(n="count(*)")
    )
    stream.name("bad").sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "bad"
    assert "'carier'" in failure.message
    assert "did you mean 'carrier'?" in failure.message


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (
            lambda s: s.union(s.select("x")).filter("x > 0"),
            "union of streams with different columns: only one has y",
        ),
        (lambda s: s.join(s, on="x"), "both sides of the join have y\n  hint: rename one"),
        (lambda s: s.filter("count(*"), "Syntax error at or near end of input"),
        (lambda s: s.filter("count(*"), "\n  in: count(*"),
        (lambda s: s.select("x AS z"), 'hint: an expression is named: select(z="x")'),
    ],
)
def test_columns_and_sql_that_do_not_fit(
    declare: Callable[[DataStream], DataStream],
    words: str,
    env: StreamExecutionEnvironment,
    run_pipeline: RunPipeline,
    tmp_path: Path,
) -> None:
    (tmp_path / "in.csv").write_text("x,y\n1,2\n")
    declare(env.from_source(Csv(f"{tmp_path}/in.csv"), "in")).name("bad").sink_to(
        Parquet(f"{tmp_path}/out")
    )
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "bad"
    assert words in failure.message
    assert "graph_compiler_input" not in failure.message
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"


def test_a_failing_sink_leaves_the_other_sinks_of_its_task_as_they_were(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("x\n1\n0\n")
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "old.parquet").write_text("old")
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in")
    rows.sink_to(Parquet(f"{tmp_path}/good")).name("good")
    rows.select(y="1 / x").name("division").sink_to(Parquet(f"{tmp_path}/bad")).name("bad")
    failure = failure_of(env, run_pipeline)
    assert "DIVIDE_BY_ZERO" in failure.message
    assert [file.name for file in (tmp_path / "good").iterdir()] == ["old.parquet"]
    assert not (tmp_path / "bad").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good", "in.csv", "staging"]


def test_a_target_that_is_a_file(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("x\n1\n")
    (tmp_path / "out").write_text("precious")
    env.from_source(Csv(f"{tmp_path}/in.csv"), "in").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "out"
    assert "is a file" in failure.message
    assert (tmp_path / "out").read_text() == "precious"
