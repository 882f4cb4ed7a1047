"""The messages of failed runs, and that nothing is left half-written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.declaration.operators import Operator
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.spark_runtime.failures.causes import read_cause
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError
from tests.harness.registered_kinds import register
from tests.spark import user_functions
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark
Declare = Callable[[DataStream], DataStream]


@dataclass(frozen=True, slots=True)
class Elsewhere(Operator):
    """An operator of a package whose Spark half is not installed."""

    default_name: ClassVar[str] = "Elsewhere"
    spark_modules: ClassVar[tuple[str, ...]] = ("acme_elsewhere.spark",)


CHAIN = "in the chain of in → bad → later → out; Spark does not say in which of them"


def failure_of(env: StreamExecutionEnvironment, run_pipeline: RunPipeline) -> Failure:
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    return failure


def test_a_missing_input_path_is_reported(
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


def test_a_missing_input_path_suggests_a_similar_one(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "nowhere.csv").touch()
    env.from_source(Csv(f"{tmp_path}/nowere.csv"), "orders").sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert f"hint: did you mean '{tmp_path}/nowhere.csv'?" in failure.message


def test_a_missing_file_system_is_reported(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env.from_source(Csv("s3a://bucket/in.csv"), "orders").sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "orders"
    assert "this Spark has no file system for s3a:" in failure.message
    assert "org.apache.hadoop:hadoop-aws" in failure.message


def test_an_unknown_column_is_reported(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("carrier,delay\nUA,3\n")
    orders = env.from_source(Csv(f"{tmp_path}/in.csv"), "orders")
    orders.filter("dellay > 3").name("late").sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "late"
    assert failure.message == (
        "there is no column 'dellay'\n  found: carrier string, delay int\n  hint: did you mean 'delay'?"
    )
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"


def test_a_missing_spark_half_of_an_operator_is_reported(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, Elsewhere)
    rows = env.from_source(Values([(1,)], "v INT"), "rows").apply(Elsewhere())
    rows.sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "Elsewhere"
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"
    assert failure.message == (
        "acme_elsewhere.spark, which implements on Spark Elsewhere, cannot be imported: "
        "No module named 'acme_elsewhere'\n  hint: install its package where Spark's driver runs"
    )


@pytest.mark.parametrize("how", ["join", "key_by"])
def test_an_unknown_key_is_reported(
    how: str, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("carrier,delay\nUA,3\n")
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in")
    other = env.from_source(Csv(f"{tmp_path}/in.csv"), "other")
    stream = rows.join(other, on="carier") if how == "join" else rows.key_by("carier").aggregate(n="count(*)")
    stream.name("bad").sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "bad"
    assert "'carier'" in failure.message
    assert "did you mean 'carrier'?" in failure.message


def test_a_parameter_after_the_word_date_is_answered_with_a_cast(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x\n2026-01-01\n")
    env = StreamExecutionEnvironment("days", params={"day": "2026-01-01"})
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in").filter("x < DATE :day").name("bad")
    rows.sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure is not None
    assert "hint: DATE '…' is a literal; for a parameter or a column: CAST(:name AS DATE)" in (failure.message)


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda s: s.union(s.select("x")).filter("x > 0"), "union of streams with different columns: only one has y"),
        (lambda s: s.join(s, on="x"), "both sides of the join have columns called y\n  found in"),
        (lambda s: s.filter("x >"), "Syntax error at or near end of input"),
        (lambda s: s.filter("x >"), "\n  in: x >"),
        (lambda s: s.select("x AS z"), 'hint: an expression is named: select(z="x")'),
    ],
)
def test_invalid_columns_and_sql_are_reported(
    declare: Declare, words: str, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("x,y\n1,2\n")
    declare(env.from_source(Csv(f"{tmp_path}/in.csv"), "in")).name("bad").sink_to(Parquet(f"{tmp_path}/out"))
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "bad"
    assert words in failure.message
    assert "graph_compiler_input" not in failure.message
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"


def test_a_failing_sink_leaves_the_other_sinks_unchanged(
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


def test_a_failure_keeps_what_was_counted_before_it(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("x\n1\n0\n")
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in")
    rows.select(y="1 / x").name("division").sink_to(Parquet(f"{tmp_path}/bad")).name("bad")
    rows.sink_to(Parquet(f"{tmp_path}/good")).name("good")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is not None
    assert report.outputs == ()
    assert "good" in {action.operator for action in report.actions}
    counted = {one.name: one.rows_in for vertex in report.vertices for one in vertex.operators}
    assert counted["good"] == 2


def test_a_target_that_is_a_file_is_refused(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("x\n1\n")
    (tmp_path / "out").write_text("precious")
    env.from_source(Csv(f"{tmp_path}/in.csv"), "in").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    failure = failure_of(env, run_pipeline)
    assert failure.operator == "out"
    assert "is a file" in failure.message
    assert (tmp_path / "out").read_text() == "precious"


def failure_of_bad(
    declare: Declare, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> Failure:
    """Run `in → bad → later → out`, where `in` has the rows 1 and 0 in a column x."""
    (tmp_path / "in.csv").write_text("x\n1\n0\n")
    bad = declare(env.from_source(Csv(f"{tmp_path}/in.csv"), "in")).name("bad")
    bad.filter("true").name("later").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    return failure_of(env, run_pipeline)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (
            "1 / x",
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead.",
        ),
        (
            "cast(concat('a', x) AS int)",
            '[CAST_INVALID_INPUT] The value \'a1\' of the type "STRING" cannot be cast to "INT" because '
            "it is malformed. Correct the value as per the syntax, or change its target type. "
            "Use `try_cast` to tolerate malformed input and return NULL instead.",
        ),
        (
            "x + 9223372036854775807",
            "[ARITHMETIC_OVERFLOW] overflow. Use 'try_add' to tolerate overflow and return NULL instead.",
        ),
        (
            "array(1)[x]",
            "[INVALID_ARRAY_INDEX] The index 1 is out of bounds. The array has 1 elements. "
            "Use the SQL function `get()` to tolerate accessing element at invalid index and return NULL instead.",
        ),
        (
            "(SELECT id FROM range(3))",
            "[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned by a subquery used as an expression.",
        ),
    ],
)
def test_invalid_data_is_reported_with_its_operator(
    expression: str, words: str, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of_bad(lambda s: s.select(y=expression), env, run_pipeline, tmp_path)
    assert failure.operator == "bad"
    assert failure.declared_at is not None
    said = failure.message.replace("long overflow", "overflow")  # Spark 4.1
    assert said == (f"{words}\n  in: {expression}\n  found: x int\n  while writing 'out'")
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("if(x = 0, raise_error('x is 0'), x)", "[USER_RAISED_EXCEPTION] x is 0"),
        (
            "cast(x + 127 AS tinyint)",
            '[CAST_OVERFLOW] The value 128 of the type "INT" cannot be cast to "TINYINT" due to an overflow. '
            "Use `try_cast` to tolerate overflow and return NULL instead.",
        ),
    ],
)
def test_where_spark_does_not_say_which_expression_failed_the_whole_chain_is_named(
    expression: str, words: str, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of_bad(lambda s: s.select(y=expression), env, run_pipeline, tmp_path)
    assert failure.operator is None
    assert failure.message == f"{words}\n  {CHAIN}"
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("s.totl", "there is no field 's.totl'\n  found: s struct<total:int>"),
        ("t.total", "there is no column 't.total'\n  found: s struct<total:int>"),
    ],
)
def test_a_misspelled_nested_field_is_matched_with_its_path(
    path: str, words: str, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of_bad(
        lambda s: s.select(s="named_struct('total', x)").filter(f"{path} > 0"), env, run_pipeline, tmp_path
    )
    assert failure.operator == "bad"
    assert failure.message == f"{words}\n  hint: did you mean 's.total'?"


@pytest.mark.parametrize(
    ("uses", "hint"),
    [
        (lambda s: s.filter("a.b > 0"), "in an expression, quote this name: `a.b`"),
        (lambda s: s.sort("a.b DESC"), "in an expression, quote this name: `a.b`"),
        (lambda s: s.select("`a.b`"), "a name alone is not quoted: a.b"),
    ],
)
def test_a_column_with_a_dot_in_its_name_is_found_by_the_hint(
    uses: Callable[[DataStream], DataStream],
    hint: str,
    env: StreamExecutionEnvironment,
    run_pipeline: RunPipeline,
    tmp_path: Path,
) -> None:
    failure = failure_of_bad(lambda s: uses(s.select(**{"a.b": "x"})), env, run_pipeline, tmp_path)
    assert failure.operator == "bad"
    assert failure.message == f"there is no column 'a.b'\n  found: a.b int\n  hint: {hint}"


def test_a_type_that_does_not_fit_shows_the_expression_and_its_input(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of_bad(lambda s: s.select(y="date_add(array(x), 1)"), env, run_pipeline, tmp_path)
    assert failure.operator == "bad"
    assert failure.message == (
        '[DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE] Cannot resolve "date_add(array(x), 1)" due to data type mismatch: '
        'The first parameter requires the "DATE" type, however "array(x)" has the type "ARRAY<INT>".\n'
        "  in: date_add(array(x), 1)\n"
        "  found: x int"
    )
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"


def test_each_input_of_a_join_is_shown_under_its_producers_name(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of_bad(lambda s: s.join(s.filter("x > 0").name("positive"), on="y"), env, run_pipeline, tmp_path)
    assert failure.message == (
        "the left side of the join has no column 'y'\n  found in 'in': x int\n  found in 'positive': x int"
    )


@pytest.mark.parametrize(
    ("function", "throwable_type", "words"),
    [
        (
            user_functions.refuses,
            "RECOVERABLE_ERROR",
            "ValueError: the exchange rates are not out yet\n  come back at noon\n  raised at {file}:{line} in refuses",
        ),
        (
            user_functions.has_a_mistake,
            "NON_RECOVERABLE_ERROR",
            "[ATTRIBUTE_NOT_SUPPORTED] Attribute `selct` is not supported.\n"
            "  raised at {file}:{line} in has_a_mistake\n  found: x int",
        ),
        (
            user_functions.gives_nothing,
            "NON_RECOVERABLE_ERROR",
            "TypeError: tests.spark.user_functions:gives_nothing returned a NoneType; it must return a DataFrame",
        ),
        (
            user_functions.misses_a_column,
            "NON_RECOVERABLE_ERROR",
            "there is no column 'z'\n  found: x int\n  raised at {file}:{line} in misses_a_column",
        ),
        (
            user_functions.divides_columns,
            "NON_RECOVERABLE_ERROR",
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead.\n"
            "  raised at {file}:{line}\n  found: x int\n  while writing 'out'",
        ),
        (
            user_functions.refuses_a_row,
            "RECOVERABLE_ERROR",
            "ValueError: x must not be 0\n  raised at {file}:{line} in checked\n  found: x int\n  while writing 'out'",
        ),
        (
            user_functions.adds_text,
            "NON_RECOVERABLE_ERROR",
            "TypeError: unsupported operand type(s) for +: 'int' and 'str'\n"
            "  raised at {file}:{line} in added\n  found: x int\n  while writing 'out'",
        ),
        (
            user_functions.runs_out_of_memory,
            "ENVIRONMENT_ERROR",
            "MemoryError: its Python worker has reached its memory limit\n"
            "  hint: spark.executor.pyspark.memory, in the conf of its slot sharing group, sets the limit\n"
            "  raised at {file}:{line} in filled\n  while writing 'out'",
        ),
    ],
)
def test_a_failing_function_names_its_operator_and_its_line(
    function: Callable[..., object],
    throwable_type: str,
    words: str,
    env: StreamExecutionEnvironment,
    run_pipeline: RunPipeline,
    tmp_path: Path,
) -> None:
    failure = failure_of_bad(lambda s: s.transform(function), env, run_pipeline, tmp_path)
    file = user_functions.__file__
    line = line_of(function.__name__, Path(file))
    assert failure.operator == "bad"
    assert failure.message == words.format(file=file, line=line)
    assert failure.throwable_type == throwable_type


def line_of(function: str, file: Path) -> int:
    """Return the line that is marked as failing inside a function."""
    lines = file.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(f"def {function}("))
    return next(number + 1 for number in range(first, len(lines)) if "# here" in lines[number])


def test_two_operators_of_one_module_are_told_apart_by_the_function_the_line_is_in(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of_bad(
        lambda s: s.transform(user_functions.harmless).name("fine").transform(user_functions.refuses_a_row),
        env,
        run_pipeline,
        tmp_path,
    )
    assert failure.operator == "bad"


def test_a_worker_that_is_killed_is_an_error_of_the_environment(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of_bad(lambda s: s.transform(user_functions.kills_its_worker), env, run_pipeline, tmp_path)
    assert failure.operator == "bad"  # no other has Python to run
    first, hint, last = failure.message.splitlines()
    assert first == "a Python worker died without a report: it used up the memory, was killed, or crashed"
    assert hint.startswith("  hint: spark.executor.pyspark.memory, in the conf of its slot sharing group,")
    assert last == "  while writing 'out'"
    assert failure.throwable_type == "ENVIRONMENT_ERROR"


def test_a_file_that_disappears_during_a_read_is_recoverable(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.csv").write_text("x\n1\n")
    rows = env.from_source(Csv(f"{tmp_path}/parts"), "in").transform(user_functions.loses_its_input)
    rows.name("bad").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    failure = failure_of(env, run_pipeline)
    assert "[FAILED_READ_FILE.FILE_NOT_EXIST]" in failure.message
    assert failure.throwable_type == "RECOVERABLE_ERROR"


def test_a_boolean_column_is_a_valid_condition(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    """Spark reads `FROM rows WHERE (flag)` as a table with the alias WHERE, unless the table has an alias."""
    (tmp_path / "in.csv").write_text("flag\ntrue\nfalse\n")
    env.from_source(Csv(f"{tmp_path}/in.csv"), "in").filter("flag").sink_to(Parquet(f"{tmp_path}/out"))
    (report,) = run_pipeline(env.pipeline())
    assert [output.rows for output in report.outputs] == [1]


def test_the_cause_of_a_call_by_reflection_is_reported(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm.java.lang  # type: ignore[union-attr]
    gateway: Any = spark.sparkContext._gateway
    types, words = gateway.new_array(java.Class, 1), gateway.new_array(java.Object, 1)
    types[0], words[0] = java.Class.forName("java.lang.String"), "no number"
    method = java.Class.forName("java.lang.Integer").getMethod("parseInt", types)
    with pytest.raises(Py4JJavaError) as raised:
        method.invoke(None, words)
    cause = read_cause(raised.value)
    assert (cause.kind, cause.message) == ("NumberFormatException", 'For input string: "no number"')


def test_a_condition_of_another_library_keeps_its_sentence(spark: SparkSession) -> None:
    """Delta Lake, and connectors, have conditions that Spark has no sentence for."""
    jvm: Any = spark._jvm
    contexts = spark.sparkContext._gateway.new_array(jvm.org.apache.spark.QueryContext, 0)  # type: ignore[union-attr]
    error = jvm.org.apache.spark.SparkException(
        "[LIBRARY_IS_FULL] The shelf 7 is full. SQLSTATE: KD00B",
        None,
        jvm.scala.Option.apply("LIBRARY_IS_FULL"),
        jvm.PythonUtils.toScalaMap({"shelf": "7"}),
        contexts,
    )
    cause = read_cause(Py4JJavaError("it failed", error))
    assert cause.condition == "LIBRARY_IS_FULL"
    assert cause.message.startswith("The shelf 7 is full.")
