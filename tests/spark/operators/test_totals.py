"""Contracts on all rows, on keys and on other streams: what they count, and what they keep from being published."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import Observation, SparkSession
from pyspark.sql.functions import count, lit

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment, param
from graph_compiler.declaration.operators import ExpectIn, ExpectRows, ExpectUnique, OnViolation, Operator
from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.operators import Scope, evaluate_outputs
from graph_compiler.spark_runtime.operators.contracts import Contract, ContractViolatedError, Values, check_contracts
from tests.harness.reference import published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

Declare = Callable[[DataStream, DataStream], DataStream]
ROWS = """
    SELECT * FROM VALUES
    (1, 'a', 0.0D, DATE'2013-01-05', 10.00BD, NULL),
    (2, 'b', -0.0D, DATE'2013-01-04', 20.00BD, 1),
    (2, 'A', double('nan'), DATE'2013-01-03', 30.00BD, 9),
    (NULL, 'c', double('nan'), NULL, NULL, 2)
    AS t(id, name, number, day, amount, boss)
"""
RANDOM = "reflect('java.util.UUID', 'randomUUID')"
"""A text that differs in each computation; `rand()` has a seed for each plan."""
OTHERS = "SELECT * FROM VALUES (1, 10.0BD), (1, 20.0BD), (2, 30.0BD), (NULL, NULL) AS t(id, amount)"


@pytest.fixture
def streams(spark: SparkSession, tmp_path: Path) -> tuple[DataStream, DataStream]:
    """Return four rows with equal keys, NULLs and NaNs, and four others."""
    rows = spark.sql(ROWS)
    rows.selectExpr("*", "collate(name, 'UTF8_LCASE') AS folded").write.parquet(f"{tmp_path}/in")
    spark.sql(OTHERS).write.parquet(f"{tmp_path}/others")
    params = {"least": 5, "share": 0.2, "age": "1 day"}
    env = StreamExecutionEnvironment("p", params=params)
    return env.from_source(Parquet(f"{tmp_path}/in"), "in"), env.from_source(Parquet(f"{tmp_path}/others"), "others")


def count_of(declare: Declare, streams: tuple[DataStream, DataStream], run: RunPipeline, out: Path) -> ContractCount:
    """Run one contract before a sink, and return its counts."""
    declare(*streams).sink_to(Parquet(str(out)))
    report = run(streams[0].environment.pipeline(), {"run_date": "2013-01-06"})[-1]
    assert report.failure is None, report.failure
    (count,) = report.contracts
    return count


def meeting_itself(rows: DataStream) -> DataStream:
    """Return rows whose plan reads these twice."""
    return rows.union(rows.filter("id = 1"))


KEYS: dict[str, tuple[Declare, int]] = {
    "equal keys are all counted, and NULL equals nothing": (lambda s, _: s.expect_unique("c", "id"), 2),
    "a key of two columns": (lambda s, _: s.expect_unique("c", "id", "name"), 0),
    "0.0 equals -0.0, and NaN equals NaN": (lambda s, _: s.expect_unique("c", "number"), 4),
    "text equals by its collation": (lambda s, _: s.expect_unique("c", "folded"), 2),
    "names of columns differ only in case": (lambda s, _: s.expect_unique("c", "ID"), 2),
    "no rows": (lambda s, _: s.filter("false").expect_unique("c", "id"), 0),
    "each row has a partner": (lambda s, o: s.expect_in("c", o, "id"), 0),
    "some rows have no partner": (lambda s, o: s.expect_in("c", o, {"boss": "id"}), 1),
    "a stream that refers to itself": (lambda s, _: s.expect_in("c", s, {"boss": "id"}), 1),
    "a broadcast other side": (lambda s, o: s.expect_in("c", o.broadcast(), {"boss": "id"}), 1),
    "nothing to be in": (lambda s, o: s.expect_in("c", o.filter("false"), "id"), 3),
    "NaN and 0.0 are in": (lambda s, _: s.expect_in("c", s.filter("id = 2"), "number"), 0),
}


@pytest.mark.parametrize("case", KEYS)
def test_rows_that_violate_a_key_are_counted(
    case: str, streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    declare, violations = KEYS[case]
    assert count_of(declare, streams, run_pipeline, tmp_path / "out").violations == violations


@pytest.mark.parametrize(
    "declare",
    [
        pytest.param(lambda s, _: s.expect_unique("c", "id", to="aside"), id="unique"),
        pytest.param(lambda s, o: s.expect_in("c", o, {"boss": "id"}, to="aside"), id="in"),
    ],
)
def test_each_row_is_kept_or_aside(
    declare: Declare, streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    checked = declare(*streams)
    checked.select("name").sink_to(Parquet(f"{tmp_path}/kept")).name("kept")
    checked.get_side_output("aside").select("name").sink_to(Parquet(f"{tmp_path}/aside")).name("aside")
    report = run_pipeline(checked.environment.pipeline())[-1]
    assert report.failure is None, report.failure
    kept, aside = ([row[0] for row in published(tmp_path / name)[1]] for name in ("kept", "aside"))
    assert sorted(map(str, [*kept, *aside])) == ["A", "a", "b", "c"]
    assert len(aside) == report.contracts[0].violations > 0


TOTALS: dict[str, tuple[Declare, str, bool]] = {
    "enough": (lambda s, _: s.expect_rows("c", at_least=4), "4 rows", True),
    "too few": (lambda s, _: s.expect_rows("c", at_least=param("least")), "4 rows", False),
    "too many": (lambda s, _: s.expect_rows("c", at_least=1, at_most=3), "4 rows", False),
    "no rows": (lambda s, _: s.filter("false").expect_rows("c", at_most=0), "0 rows", True),
    "a limit after it reads a part": (lambda s, _: s.expect_rows("c", at_least=4).limit(1), "4 rows", True),
    "nothing of it is read": (lambda s, _: s.expect_rows("c", at_least=4).filter("1 = 0"), "4 rows", True),
    "a stream that meets itself": (lambda s, _: meeting_itself(s.expect_rows("c", at_most=4)), "4 rows", True),
    "sorted": (lambda s, _: s.expect_rows("c", at_most=4).sort("id"), "4 rows", True),
    "grouped": (lambda s, _: s.expect_rows("c", at_most=4).key_by("id").aggregate(n="count(*)"), "4 rows", True),
    "fresh": (lambda s, _: s.expect_fresh("c", "day", "1 day"), "the newest 'day' is 2013-01-05", True),
    "stale": (lambda s, _: s.expect_fresh("c", "DAY", "0 days"), "the newest 'DAY' is 2013-01-05", False),
    "fresh by a parameter": (
        lambda s, _: s.expect_fresh("c", "day", param("age")),
        "the newest 'day' is 2013-01-05",
        True,
    ),
    "a time": (
        lambda s, _: s.with_columns(at="CAST(day AS TIMESTAMP)").expect_fresh("c", "at", "23 hours"),
        "the newest 'at' is 2013-01-05 00:00:00",
        False,
    ),
    "a time without a zone": (
        lambda s, _: s.with_columns(at="CAST(day AS TIMESTAMP_NTZ)").expect_fresh("c", "at", "24 hours"),
        "the newest 'at' is 2013-01-05 00:00:00",
        True,
    ),
    "nothing is fresh": (lambda s, _: s.filter("false").expect_fresh("c", "day", "1 year"), "no value of 'day'", False),
    "only NULLs": (lambda s, _: s.filter("day IS NULL").expect_fresh("c", "day", "1 year"), "no value of 'day'", False),
    "the same number": (
        lambda s, o: s.expect_same("c", o),
        "count(*) is 4, and count(*) of the other stream is 4",
        True,
    ),
    "the same sum of other decimals": (
        lambda s, o: s.expect_same("c", o, "sum(amount)"),
        "sum(amount) is 60.00, and sum(amount) of the other stream is 60.0",
        True,
    ),
    "another sum": (
        lambda s, o: s.expect_same("c", o, "sum(id)", other_total="sum(id) + 1"),
        "sum(id) is 5, and sum(id) + 1 of the other stream is 5",
        True,
    ),
    "no sum is not zero": (
        lambda s, o: s.filter("false").expect_same("c", o, "sum(id)", other_total="sum(0)"),
        "sum(id) is NULL, and sum(0) of the other stream is 0",
        False,
    ),
    "texts, which are not shown": (
        lambda s, _: s.expect_same("c", s.filter("id = 1"), "min(name)", other_total="max(name)"),
        "min(name) differs from max(name) of the other stream",
        False,
    ),
    "two empty streams": (
        lambda s, o: s.filter("false").expect_same("c", o.filter("false"), "sum(id)"),
        "sum(id) is NULL, and sum(id) of the other stream is NULL",
        True,
    ),
}


@pytest.mark.parametrize("case", TOTALS)
def test_a_total_is_of_all_rows(
    case: str, streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    declare, total, holds = TOTALS[case]
    count = count_of(declare, streams, run_pipeline, tmp_path / "out")
    assert (count.total, count.holds, count.violations) == (total, holds, 0 if holds else 1)


# What a violation does, and when.


def test_a_total_that_fails_publishes_no_sink_of_its_region(
    streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    rows, others = streams
    rows.sink_to(Parquet(f"{tmp_path}/innocent")).name("innocent")
    rows.expect_rows("enough", at_least=1000, on_violation="fail").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    rows.expect_same("balanced", others, "sum(id)", other_total="sum(id) + 1", on_violation="fail")
    rows.expect_fresh("new", "day", "0 days", on_violation="fail")
    rows.expect("known", "id IS NOT NULL", on_violation="fail", max_share=param("share"))
    rows.expect_unique("one each", "id", on_violation="fail", max_share=0.5)
    failure = run_pipeline(rows.environment.pipeline(), {"run_date": "2013-01-06"})[-1].failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    for words in (
        "'enough' does not hold: 4 rows, allowed: at least 1,000 rows",
        "'new' does not hold: the newest 'day' is 2013-01-05, allowed: not older than 0 days before 2013-01-06",
        "1 of 4 rows violate 'known', allowed: at most 20 %",
    ):
        assert words in failure.message
    assert "balanced" not in failure.message
    assert "one each" not in failure.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "others", "staging"]


def test_a_contract_that_nothing_reads_is_counted(
    streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    rows, others = streams
    rows.expect("known", "id IS NOT NULL")
    rows.expect_unique("one each", "id", to="aside")
    rows.expect_in("there", others, {"boss": "id"}, on_violation="drop")
    rows.expect_rows("some", at_least=1).expect_rows("few", at_most=9)
    rows.sink_to(Parquet(f"{tmp_path}/out"))
    report = run_pipeline(rows.environment.pipeline())[-1]
    assert report.failure is None, report.failure
    counts = {count.contract: (count.rows, count.violations) for count in report.contracts}
    assert counts == {"known": (4, 1), "one each": (4, 2), "there": (4, 1), "some": (4, 0), "few": (4, 0)}


def test_a_pipeline_may_only_check(streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline) -> None:
    rows, _ = streams
    rows.expect_rows("enough", at_least=5, on_violation="fail")
    failure = run_pipeline(rows.environment.pipeline())[-1].failure
    assert failure is not None
    assert failure.message.startswith("'enough' does not hold: 4 rows")


@pytest.mark.parametrize(("share", "holds"), [(0.25, True), (0.2, False), (0, False)])
def test_a_share_of_the_rows_may_violate_a_contract(
    share: float, holds: bool, streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    def declare(rows: DataStream, _: DataStream) -> DataStream:
        return rows.expect("c", "id IS NOT NULL", max_share=share)

    assert count_of(declare, streams, run_pipeline, tmp_path / "out").holds is holds


@pytest.mark.parametrize(("share", "holds"), [(0.29, True), (0.28, False)])
def test_a_share_is_the_number_that_is_written(
    share: float, holds: bool, streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    """In binary, 0.29 of 100 rows are 28.999999999999996."""

    def declare(rows: DataStream, _: DataStream) -> DataStream:
        return rows.limit(1).select(n="explode(sequence(1, 100))").expect("c", "n > 29", max_share=share)

    assert count_of(declare, streams, run_pipeline, tmp_path / "out").holds is holds


def test_a_share_of_no_rows_holds(
    streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    def declare(rows: DataStream, _: DataStream) -> DataStream:
        return rows.filter("false").expect("c", "id > 0", on_violation="fail", max_share=0)

    assert count_of(declare, streams, run_pipeline, tmp_path / "out").holds


def test_rows_that_may_vary_are_the_same_for_the_total_and_the_sink(
    streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    rows, others = streams
    many = rows.select("id", n="explode(sequence(1, 500))").filter(f"hash({RANDOM}) > 0")
    checked = many.expect_same("c", others, "sum(n)", other_total="sum(id)")
    checked.sink_to(Parquet(f"{tmp_path}/out"))
    report = run_pipeline(rows.environment.pipeline())[-1]
    assert report.failure is None, report.failure
    written = sum(int(str(row[1])) for row in published(tmp_path / "out")[1])
    assert report.contracts[0].total is not None
    assert report.contracts[0].total.startswith(f"sum(n) is {written},")


def test_a_total_commits_with_the_result_that_is_staged_after_it(
    streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    rows, _ = streams
    checked = rows.expect_rows("enough", at_least=5, on_violation="fail")
    checked.stage("to cut here").filter("id > 3").sink_to(Parquet(f"{tmp_path}/out"))
    (report,) = run_pipeline(rows.environment.pipeline())
    assert report.failure is not None
    assert not list((tmp_path / "staging").rglob("manifests/*/*.json"))


WRONG: dict[str, tuple[Declare, str]] = {
    "a floating-point sum": (
        lambda s, o: s.expect_same("c", o, "sum(number)", other_total="sum(id)"),
        "DECIMAL(20, 4)",
    ),
    "no aggregate": (lambda s, o: s.expect_same("c", o, "id"), "MISSING_GROUP_BY"),
    "totals of other types": (
        lambda s, o: s.expect_same("c", o, "max(name)", other_total="max(id)"),
        "max(name) is STRING, and max(id) of the other stream is INT",
    ),
    "a missing key": (lambda s, _: s.expect_unique("c", "idd"), "did you mean 'id'?"),
    "a missing key of the other": (lambda s, o: s.expect_in("c", o, "name"), "the other stream has no column 'name'"),
    "keys of other types": (lambda s, o: s.expect_in("c", o, {"name": "id"}), "'name' (STRING) with 'id' (INT)"),
    "text that is fresh": (lambda s, _: s.expect_fresh("c", "name", "1 day"), "'name' is STRING"),
    "a missing date": (lambda s, _: s.expect_fresh("c", "dya", "1 day"), "did you mean 'day'?"),
    "a run's limit that is none": (lambda s, _: s.expect_fresh("c", "day", param("age")), "its within is 'soon'"),
    "a run's share that is none": (
        lambda s, _: s.expect("c", "id > 0", max_share=param("share")),
        "its max_share is 20.0 in this run",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_contract_that_cannot_be_counted_says_why(
    case: str, streams: tuple[DataStream, DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    declare, words = WRONG[case]
    declare(*streams).sink_to(Parquet(f"{tmp_path}/out"))
    given = {"run_date": "2013-01-06", "age": "soon", "share": 20.0}
    failure = run_pipeline(streams[0].environment.pipeline(), given)[-1].failure
    assert failure is not None
    assert failure.operator == "c"
    assert words in failure.message


# A count that Spark may have made twice.


def observed_twice(spark: SparkSession, *, varies: bool) -> Contract:
    """Return a contract of at most three rows, whose observation has counted six."""
    observation = Observation()
    spark.range(6).observe(observation, count(lit(1)).alias("rows")).collect()
    operator = ExpectRows("few", None, 3, on_violation=OnViolation.FAIL)

    def verdict(values: Values) -> ContractCount:
        rows = values["rows"]
        assert isinstance(rows, int)
        return ContractCount(contract="few", on_violation="fail", rows=rows, violations=int(rows > 3))

    return Contract(
        operator=operator, verdict=verdict, count_apart=lambda: {"rows": 3}, observation=observation, varies=varies
    )


def test_rows_that_spark_has_counted_twice_are_counted_again(spark: SparkSession) -> None:
    (found,) = check_contracts([observed_twice(spark, varies=False)], spark, is_repeated=lambda: True)
    assert found.rows == 3
    with pytest.raises(ContractViolatedError):
        check_contracts([observed_twice(spark, varies=False)], spark, is_repeated=lambda: False)


def test_rows_that_may_vary_are_not_counted_again(spark: SparkSession) -> None:
    with pytest.raises(StagingError, match="counted rows of 'few' twice"):
        check_contracts([observed_twice(spark, varies=True)], spark, is_repeated=lambda: True)


# Keys of any values, compared with Python.

NUMBERS = st.lists(st.sampled_from([None, 0.0, -0.0, 1.5, float("nan"), float("inf")]), max_size=7)


def same(key: float | None) -> str | None:
    """Return a text that is the same for numbers that Spark treats as equal."""
    return None if key is None else str(key + 0.0)


def violations_of(operator: Operator, *streams: list[float | None], spark: SparkSession) -> list[str | None]:
    inputs = [spark.createDataFrame([(key,) for key in stream], "k DOUBLE").coalesce(1) for stream in streams]
    scope = Scope(
        spark=spark,
        parameters={},
        parallelism=None,
        read=lambda connector, _: pytest.fail(f"{connector} is read"),
        materialize=lambda _name, given: given,
        stop_clock=lambda given: given,
        contracts=[],
        is_dry=False,
    )
    outputs = evaluate_outputs(operator, {number: [rows] for number, rows in enumerate(inputs)}, scope)
    kept, aside = ([row[0] for row in rows.collect()] for rows in outputs.values())
    assert sorted(map(str, map(same, [*kept, *aside]))) == sorted(map(str, map(same, streams[0])))
    return sorted(map(same, aside), key=str)


@given(keys=NUMBERS, others=NUMBERS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_violations_of_keys_are_those_that_python_finds(
    keys: list[float | None], others: list[float | None], spark: SparkSession
) -> None:
    texts = [same(key) for key in keys]
    unique = ExpectUnique("c", ("k",), OnViolation.TO, "aside")
    twice = sorted(text for text in texts if text is not None and texts.count(text) > 1)
    assert violations_of(unique, keys, spark=spark) == twice
    known = ExpectIn("c", (("k", "k"),), OnViolation.TO, "aside")
    lost = sorted(text for text in texts if text is not None and text not in map(same, others))
    assert violations_of(known, keys, others, spark=spark) == lost
