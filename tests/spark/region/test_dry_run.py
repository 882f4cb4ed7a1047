"""A dry run finds what Spark would refuse, in every task at once, and reads no data."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Csv, DataStream, Json, Parquet, Range, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.operators import Sql
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.counting import CountRequest
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    OperatorDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.dry_run import DryRunAnswer
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.dry_run import dry_run
from graph_compiler.spark_runtime.main import execute
from graph_compiler.spark_runtime.shell import count_values, named_rows
from pipelines.flights import env as flights
from tests.harness.flights_data import DATA
from tests.spark import functions

pytestmark = pytest.mark.spark

ATTEMPT = ExecutionAttempt(execution_id="dry_run", attempt_number=0)
Environment = StreamExecutionEnvironment


def tasks(env: Environment, root: Path) -> list[TaskDeploymentDescriptor]:
    return [
        TaskDeploymentDescriptor(
            version=VERSION,
            identity=RunIdentity.own(region.pipeline, "dry_run"),
            region=region,
            attempt=ATTEMPT,
            staging_root=str(root),
            parameters=env.pipeline().params,
        )
        for region in describe_regions(compile_pipeline(env.pipeline()))
    ]


def test_contracts_on_totals_are_analyzed_and_not_counted(spark: SparkSession, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p", params={"run_date_of_the_test": 1})
    rows = env.from_source(Values([(1, "a")], schema="id INT, name STRING"), "rows")
    rows.expect_rows("enough", at_least=5, on_violation="fail")
    rows.expect_same("fine", rows, "sum(id)", on_violation="fail")
    rows.expect_same("misspelled", rows, "sum(idd)", on_violation="fail")
    rows.expect_unique("once", "nme")
    rows.expect_in("known", rows, {"id": "name"})
    rows.expect_fresh("new", "name", "1 day")
    answer = asked(env, spark, tmp_path)
    assert {finding.operator for finding in answer.findings} == {"misspelled", "once", "known", "new"}


def asked(env: Environment, spark: SparkSession, root: Path, *, shows_plans: bool = False) -> DryRunAnswer:
    """Analyze, and assert that nothing was written."""
    before = sorted(root.rglob("*"))
    answer = dry_run(tasks(env, root), spark, shows_plans=shows_plans)
    assert sorted(root.rglob("*")) == before
    return answer


@pytest.fixture
def rows(tmp_path: Path) -> DataStream:
    (tmp_path / "in.csv").write_text("k,v\na,1\nb,2\n")
    env = Environment("p", params={"least": 1})
    return env.from_source(Csv(f"{tmp_path}/in.csv"), "in")


FINDINGS: dict[str, tuple[Callable[[DataStream], DataStream], str]] = {
    "a missing column": (lambda s: s.select("vv"), "there is no column 'vv'"),
    "a type clash": (lambda s: s.filter("array(v) > 1"), "DATATYPE_MISMATCH"),
    "bad SQL": (lambda s: s.filter("v > > 1"), "in: v > > 1\n          ^"),
    "SQL that ends": (lambda s: s.filter("v >"), "in: v >\n         ^ it ends here"),
    "a bad order": (lambda s: s.stage("cut").sort("w"), "there is no column 'w'"),
    "a bad condition of a loop": (
        lambda s: s.iterate(functions.doubled, max_iterations=50, until="max(z) > 1"),
        "there is no column 'z'",
    ),
    "a function": (lambda s: s.transform(functions.not_rows), "returned a int"),
    "what Parquet cannot hold": (
        lambda s: s.select(i="make_interval(v)").stage("cut").select(n="1"),
        "parquet files cannot hold",
    ),
    "a rename onto a column": (lambda s: s.rename({"k": "V"}), "already has a column 'V'"),
    "a column of flat_map": (lambda s: s.flat_map("explode(array(1))", "K"), "already has a column 'K'"),
    "a misspelt generator": (lambda s: s.flat_map("explod(v)", "x"), "in: explod(v)\n  found"),
    "a misspelt word of a query": (
        lambda s: s.sql("SELECT * FRM {input}"),
        "near '{input}': extra input '{input}'.\n  in: SELECT * FRM {input}\n                   ^\n",
    ),
    "bad SQL with a parameter": (lambda s: s.filter("v > > :least"), "in: v > > :least\n          ^"),
    "a query with a parameter": (
        lambda s: s.sql("SELECT *\nFROM {input} WHER v > :least"),
        "in: SELECT *\n      FROM {input} WHER v > :least\n                        ^",
    ),
    "a union": (lambda s: s.union(s.select("k")).filter("true"), "only one has v"),
}


@pytest.mark.parametrize(("declare", "words"), FINDINGS.values(), ids=FINDINGS.keys())
def test_each_mistake_is_found_with_its_place_before_anything_runs(
    declare: Callable[[DataStream], DataStream], words: str, rows: DataStream, spark: SparkSession, tmp_path: Path
) -> None:
    declare(rows).name("bad").sink_to(Parquet(f"{tmp_path}/out"))
    (finding,) = asked(rows.environment, spark, tmp_path).findings
    assert words in finding.message
    assert finding.declared_at is not None
    assert finding.declared_at.file == __file__


WARNINGS: dict[str, tuple[Callable[[DataStream], DataStream], str]] = {
    "a text for a number": (
        lambda s: s.filter("v > 'high'"),
        "Spark casts 'high' to BIGINT, which it does not fit: the first row fails the task\n"
        "  in: v > 'high'\n"
        "  hint: write a value of that type, or try_cast('high' AS BIGINT) for NULL",
    ),
    "one of several values": (
        lambda s: s.select(known="v IN (1, 'two')"),
        "Spark casts 'two' to BIGINT, which it does not fit",
    ),
    "a text for a day": (lambda s: s.filter("current_date() > '1st of May'"), "Spark casts '1st of May' to DATE"),
    "a query": (lambda s: s.sql("SELECT k FROM {input} WHERE v = 'x'"), "Spark casts 'x' to BIGINT"),
    "a number that is too large": (
        lambda s: s.select(t="CAST(300 AS TINYINT)"),
        'The value 300 of the type "INT" cannot be cast to "TINYINT" due to an overflow',
    ),
}


@pytest.mark.parametrize(("declare", "words"), WARNINGS.values(), ids=WARNINGS.keys())
def test_literals_that_do_not_fit_are_warnings_of_their_operator_only(
    declare: Callable[[DataStream], DataStream], words: str, rows: DataStream, spark: SparkSession, tmp_path: Path
) -> None:
    bad = declare(rows.filter("v > 0").name("before")).name("bad")
    bad.filter("true").name("after").sink_to(Parquet(f"{tmp_path}/out"))
    answer = asked(rows.environment, spark, tmp_path)
    assert answer.findings == ()
    (warning,) = answer.warnings
    assert warning.operator == "bad"
    assert words in warning.message


@pytest.mark.parametrize("condition", ["v > '3'", "try_cast('high' AS INT) IS NULL", "k = 'high'", "v > 1.5"])
def test_literals_that_fit_are_no_warnings(
    condition: str, rows: DataStream, spark: SparkSession, tmp_path: Path
) -> None:
    rows.filter(condition).sink_to(Parquet(f"{tmp_path}/out"))
    answer = asked(rows.environment, spark, tmp_path)
    assert (answer.findings, answer.warnings) == ((), ())


def test_a_join_with_two_mistakes_is_reported_with_both(rows: DataStream, spark: SparkSession, tmp_path: Path) -> None:
    """Its columns collide; and one key is text, or cannot be compared at all."""
    other = rows.select(id="k", days="array(v)", v="v").name("other")
    texts = rows.join(other, on={"v": "id"}).name("texts")
    lists = rows.join(other, on={"v": "days"}).name("lists")
    for name, joined in (("a", texts), ("b", lists)):
        joined.filter("w > 1").sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    answer = asked(rows.environment, spark, tmp_path)
    found = [(finding.operator, finding.message.splitlines()[0]) for finding in answer.findings]
    both = "both sides of the join have columns called v"
    assert [found[0], found[2]] == [("texts", both), ("lists", both)]
    assert [found[1][0], found[3][0]] == ["texts", "lists"]
    assert found[1][1].startswith("it joins 'v' (INT) with 'id' (STRING), and Spark casts")
    assert "DATATYPE_MISMATCH" in found[3][1]


def test_independent_findings_of_all_tasks_are_reported_together(
    rows: DataStream, spark: SparkSession, tmp_path: Path
) -> None:
    rows.select("x").name("one").filter("x > 0").sink_to(Parquet(f"{tmp_path}/one"))
    staged = rows.filter("v > 1").stage("cut")
    staged.select("y").name("two").sink_to(Parquet(f"{tmp_path}/two"))
    staged.key_by("k").aggregate(z="sum(z)").name("three").sink_to(Parquet(f"{tmp_path}/three"))
    found = asked(rows.environment, spark, tmp_path).findings
    assert sorted(str(finding.operator) for finding in found) == ["one", "three", "two"]


def test_only_the_first_lines_of_a_source_are_read(spark: SparkSession, tmp_path: Path) -> None:
    lines = [f'{{"k": "a", "v": {number}}}' for number in range(2_000)]
    (tmp_path / "in.json").write_text("\n".join([*lines, "no JSON at all"]))
    env = Environment("p")
    env.from_source(Json(f"{tmp_path}/in.json"), "in").filter("v > 1").sink_to(Parquet(f"{tmp_path}/out"))
    assert asked(env, spark, tmp_path).findings == ()


def test_inferred_columns_are_returned_as_the_declaration_could_say_them(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("k,an id\na,1\n")
    env = Environment("p")
    env.from_source(Csv(f"{tmp_path}/in.csv"), "in").sink_to(Parquet(f"{tmp_path}/out"))
    answer = dry_run(tasks(env, tmp_path), spark, infers=True)
    (inferred,) = answer.schemas
    assert (inferred.operator, inferred.schema) == ("in", "k STRING, `an id` INT")
    declared = Csv(f"{tmp_path}/in.csv", schema=inferred.schema)
    assert list(map(tuple, read_source(declared, spark).collect())) == [("a", 1)]


@pytest.mark.ci
def test_the_example_has_no_findings_and_a_plan_per_vertex(spark: SparkSession, tmp_path: Path) -> None:
    from graph_compiler.deployment.describe.templates import fill_places, find_places

    params = {"input": str(DATA), "output": str(tmp_path / "out")}
    described = describe_regions(compile_pipeline(flights.pipeline()))
    filled = []
    for region in described:
        places = find_places([region])
        for name, value in params.items():
            places = {key: text.replace(f"{{{{ params.{name} }}}}", value) for key, text in places.items()}
        (rendered,) = fill_places([region], places)
        filled.append(
            TaskDeploymentDescriptor(
                version=VERSION,
                identity=RunIdentity.own(region.pipeline, "dry_run"),
                region=rendered,
                attempt=ATTEMPT,
                staging_root=str(tmp_path),
                parameters=flights.pipeline().params,
            )
        )
    answer = dry_run(filled, spark, shows_plans=True)
    assert answer.findings == ()
    plans = {plan.vertex: plan.plan for plan in answer.plans}
    first = plans["Source: flights -> flown -> (arrival_is_known, Sink: cancelled)"]
    assert "Generate inline(" in first  # the records are checked before the filter
    assert "Filter isnotnull(dep_time" in first
    assert "partial_avg" in plans["lateness"]
    assert len(plans) == 13


def kept(rows: DataFrame) -> tuple[DataFrame, dict[str, DataFrame]]:
    return rows.where("id > 1"), {"rest": rows.where("id <= 1")}


def test_a_shell_has_every_operator_by_name(spark: SparkSession, tmp_path: Path) -> None:
    env = Environment("p")
    numbers = env.from_source(Range(0, 4), "the numbers")
    split = numbers.process(kept, outputs=("rest",)).name("split")
    split.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    split.get_side_output("rest").limit(1).name("split").sink_to(Parquet(f"{tmp_path}/rest"))
    (task,) = tasks(env, tmp_path)
    found = named_rows(task, spark)
    assert {name: frame.count() for name, frame in found.items()} == {
        "the_numbers": 4,
        "split_1": 2,
        "split_rest": 2,
        "out": 2,
        "split_2": 1,
        "Sink": 1,
    }
    assert not (tmp_path / "out").exists()


def test_values_of_an_operator_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    env = Environment("p")
    rows = [("a`b", None), ("a`b", 1), ("é\n", 1), ("a`b", None)]
    env.from_source(Values(rows, "`k.x` STRING, rows INT"), "the rows").sink_to(Parquet(f"{tmp_path}/out"))
    (task,) = tasks(env, tmp_path)
    found = named_rows(task, spark)
    one = count_values(found, CountRequest(operator="the rows", columns=("k.x",), limit=1)).values
    assert one is not None
    assert (one.rows, one.total) == (('{"k.x":"a`b","rows":3}',), 2)
    both = count_values(found, CountRequest(operator="the rows", columns=("rows", "k.x"), limit=9)).values
    assert both is not None
    assert [json.loads(row) for row in both.rows] == [
        {"rows": None, "k.x": "a`b", "rows_": 2},
        {"rows": 1, "k.x": "a`b", "rows_": 1},
        {"rows": 1, "k.x": "é\n", "rows_": 1},
    ]
    no_operator = count_values(found, CountRequest(operator="rows", columns=("k.x",), limit=1))
    assert no_operator.problem == "no operator 'rows'\n  found: the_rows and Sink"
    no_column = count_values(found, CountRequest(operator="the rows", columns=("k",), limit=1))
    assert no_column.problem == "no column k\n  found: k.x and rows"


def test_a_name_that_operators_share_is_refused_until_one_of_them_is_named(spark: SparkSession, tmp_path: Path) -> None:
    env = Environment("p")
    numbers = env.from_source(Range(0, 4), "numbers")
    numbers.filter("id > 0").name("kept").select(odd="id % 2").name("kept").sink_to(Parquet(f"{tmp_path}/out"))
    numbers.select(all="id").name("kept 1").sink_to(Parquet(f"{tmp_path}/all"))
    (task,) = tasks(env, tmp_path)
    found = named_rows(task, spark)
    assert {name: frame.columns for name, frame in found.items() if name.startswith("kept")} == {
        "kept_1": ["all"],
        "kept_2": ["id"],
        "kept_3": ["odd"],
    }
    shared = count_values(found, CountRequest(operator="kept", columns=("odd",), limit=1))
    assert shared.values is None
    assert shared.problem == (
        "'kept' is not the name of a single operator; name one of these:"
        "\n    kept_1: all\n    kept_2: id\n    kept_3: odd"
    )
    one = count_values(found, CountRequest(operator="kept_3", columns=("odd",), limit=1)).values
    assert one is not None
    assert one.rows == ('{"odd":1,"rows":2}',)


def test_a_join_of_text_with_a_number_is_a_finding(rows: DataStream, spark: SparkSession, tmp_path: Path) -> None:
    numbers = rows.environment.from_source(Range(0, 3), "numbers")
    joined = rows.join(numbers, on={"k": "id"}).name("joined")
    joined.sink_to(Parquet(f"{tmp_path}/out"))
    answer = asked(rows.environment, spark, tmp_path)
    (finding,) = answer.findings
    assert finding.operator == "joined"
    assert "it joins 'k' (STRING) with 'id' (BIGINT)" in finding.message
    assert 'cast(k="BIGINT") on the left, where it is STRING' in finding.message


def test_findings_are_in_the_order_of_the_file(rows: DataStream, spark: SparkSession, tmp_path: Path) -> None:
    first, second = rows.select("k"), rows.environment.from_source(Range(0, 3), "numbers")
    first.select("x").name("one").sink_to(Parquet(f"{tmp_path}/one"))
    second.select("y").name("two").sink_to(Parquet(f"{tmp_path}/two"))
    first.stage("cut").select("z").name("three").sink_to(Parquet(f"{tmp_path}/three"))
    second.select("w").name("four").sink_to(Parquet(f"{tmp_path}/four"))
    findings = asked(rows.environment, spark, tmp_path).findings
    lines = [finding.declared_at.line for finding in findings if finding.declared_at]
    assert lines == sorted(lines)
    assert [finding.operator for finding in findings] == ["one", "two", "three", "four"]


def with_query(task: TaskDeploymentDescriptor, query: str) -> TaskDeploymentDescriptor:
    """Return a task with another query, which no check of the declaration has seen."""

    def changed(operator: OperatorDescriptor) -> OperatorDescriptor:
        kind = operator.operator
        return replace(operator, operator=replace(kind, query=query)) if isinstance(kind, Sql) else operator

    vertices = tuple(
        replace(vertex, operators=tuple(map(changed, vertex.operators))) for vertex in task.region.vertices
    )
    return replace(task, region=replace(task.region, vertices=vertices))


@pytest.mark.parametrize("shows_plans", [False, True])
def test_a_command_is_a_finding_and_nothing_is_overwritten(
    rows: DataStream, spark: SparkSession, tmp_path: Path, shows_plans: bool
) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "2023.csv").write_text("1\n2\n3\n")
    rows.environment.sql("SELECT * FROM {a}", a=rows).name("command").sink_to(Parquet("/out"))
    command = f"INSERT OVERWRITE DIRECTORY '{archive}' USING csv SELECT * FROM {{a}}"
    given = [with_query(task, command) for task in tasks(rows.environment, tmp_path)]
    (finding,) = dry_run(given, spark, shows_plans=shows_plans).findings
    assert finding.operator == "command"
    assert finding.declared_at is not None
    assert finding.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert finding.message.splitlines() == [
        "its SQL is a command (INSERT OVERWRITE DIRECTORY), not a query",
        "  allowed: SELECT …, WITH … SELECT, VALUES …, TABLE … or FROM …",
        "  hint: to write rows, use sink_to",
    ]
    assert {file.name: file.read_text() for file in archive.iterdir()} == {"2023.csv": "1\n2\n3\n"}


def test_a_run_refuses_a_command_unexecuted(rows: DataStream, spark: SparkSession, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "2023.csv").write_text("1\n2\n3\n")
    rows.environment.sql("SELECT * FROM {a}", a=rows).name("command").sink_to(Parquet(f"{tmp_path}/out"))
    command = f"WITH b AS (TABLE {{a}}) INSERT OVERWRITE DIRECTORY '{archive}' USING csv TABLE b"
    (task,) = tasks(rows.environment, tmp_path / "staging")
    failure = execute(with_query(task, command), spark).failure
    assert failure is not None
    assert failure.operator == "command"
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert "is a command (INSERT OVERWRITE DIRECTORY), not a query" in failure.message
    assert [file.name for file in archive.iterdir()] == ["2023.csv"]
    assert not (tmp_path / "out").exists()
