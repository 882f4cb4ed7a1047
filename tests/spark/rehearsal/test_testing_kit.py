"""The testing kit returns what production returns, and reports problems of its input."""

import gc
import os
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Csv, DataStream, Jdbc, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.operator_names import OperatorNotFoundError
from graph_compiler.spark_runtime.rehearsal.rehearsal import SameNameError
from graph_compiler.spark_runtime.rehearsal.test_rows import GivenRowsError
from graph_compiler.testing import REAL, PipelineFailedError, PipelineResult, Rows
from pipelines.flights import env as flights
from tests.conftest import SHUFFLE_MODES, with_options
from tests.harness.reference import assert_same_rows, expected, reports

pytestmark = pytest.mark.spark
Run = Callable[..., PipelineResult]
SCHEMA = "k STRING NOT NULL, v INT, day DATE, price DECIMAL(9,2), seen TIMESTAMP, share DOUBLE, tags ARRAY<STRING>"


@pytest.fixture
def orders(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(Csv("/nowhere/{{ macros.unknown }}", schema=SCHEMA), "orders")


def sink(stream: DataStream, name: str = "out", **settings: object) -> StreamExecutionEnvironment:
    stream.sink_to(Parquet(f"/no/{name}", **settings)).name(name)  # type: ignore[arg-type]
    return stream.environment


def test_cells_are_parsed_by_type_and_returned_as_python_values(orders: DataStream, pipeline_run: Run) -> None:
    given = {"k": "a", "DAY": "2013-01-31", "price": "1.5", "seen": "2013-01-31T05:00:00", "share": 1}
    result = pipeline_run(sink(orders), {"orders": [given | {"tags": ["x"]}, {"k": "b"}]})
    assert result.rows("orders") == [
        {
            "k": "a",
            "v": None,
            "day": date(2013, 1, 31),
            "price": Decimal("1.50"),
            "seen": datetime(2013, 1, 31, 5),
            "share": 1.0,
            "tags": ["x"],
        },
        {"k": "b", **dict.fromkeys(("v", "day", "price", "seen", "share", "tags"))},
    ]
    assert result.columns("orders")["price"] == "DECIMAL(9,2)"


@pytest.fixture
def far_from_utc() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Kolkata"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.usefixtures("far_from_utc")
def test_the_zone_of_the_machine_changes_no_time(orders: DataStream, pipeline_run: Run) -> None:
    five = datetime(2013, 1, 31, 5)
    result = pipeline_run(
        sink(orders.select("seen", hour="hour(seen)", all="array(seen)").name("hours")),
        {"orders": [{"k": "a", "seen": five}]},
    )
    assert result.rows("hours") == [{"seen": five, "hour": 5, "all": [five]}]


REFUSED: dict[str, tuple[object, str]] = {
    "no rows": (
        {},
        "pipeline 'sales': 'orders' was given no rows\n  allowed: sources={\"orders\": [{…}]}; REAL instead of",
    ),
    "an unknown source": ({"ordres": []}, "no source 'ordres'\n  allowed: orders\n  hint: did you mean 'orders'?"),
    "an unknown column": (
        {"orders": [{"k": "a"}, {"k": "a", "prise": 1}]},
        "row 1 given for 'orders' has the column 'prise'\n  allowed: k, v, day, price, seen, share and tags\n"
        "  hint: did you mean 'price'?",
    ),
    "a column that must be there": ({"orders": [{"v": 1}]}, "row 0 given for 'orders' has no k, declared NOT NULL"),
    "text that is no date": (
        {"orders": [{"k": "a", "day": "soon"}]},
        "row 0 given for 'orders': day is 'soon'\n  allowed: DATE",
    ),
    "a value of another type": ({"orders": [{"k": "a", "v": "many"}]}, "rows given for 'orders' cannot be taken:"),
    "a row too short": ({"orders": [("a", 1)]}, "row 0 given for 'orders' has 2 values, and the source 7 columns"),
    "no rows at all": ({"orders": None}, "'orders' was given None\n  allowed: rows in a list"),
    "one row": ({"orders": {"k": "a"}}, "'orders' was given {'k': 'a'}\n  allowed: rows in a list"),
    "values": ({"orders": [1]}, "'orders' was given 1\n  allowed: rows in a list"),
    "a column twice": ({"orders": [{"k": "a", "K": "b"}]}, "row 0 given for 'orders' has a column twice: k and K"),
    "another schema than is declared": (
        {"orders": Rows("k STRING, w INT", [("a", 1)])},
        "operator 'orders': its columns are not those that are declared",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("sources", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_values_that_do_not_fit_a_source_are_refused(
    sources: dict[str, object], words: str, orders: DataStream, pipeline_run: Run
) -> None:
    with pytest.raises(GraphCompilerError) as refused:
        pipeline_run(sink(orders), sources)
    assert words in str(refused.value)


def test_a_source_without_schema_takes_inferred_or_given_types(
    env: StreamExecutionEnvironment, pipeline_run: Run, spark: SparkSession
) -> None:
    sink(env.from_source(Parquet("/nowhere"), "in"))
    result = pipeline_run(env, {"in": [{"k": "a"}, {"k": "b", "v": 1}]})
    assert result.columns("in") == {"k": "STRING", "v": "BIGINT"}
    assert result.rows("out") == [{"k": "a", "v": None}, {"k": "b", "v": 1}]
    assert pipeline_run(env, {"in": Rows("k STRING, v INT")}).rows("out") == []
    assert pipeline_run(env, {"in": spark.range(2)}).rows("out") == [{"id": 0}, {"id": 1}]
    for rows, words in (
        ([], "was given no rows, and declares no schema"),
        ([("a", 1)], "was given rows without names"),
        ([{"k": None}], "column 'k' given for 'in' has no value, so its type is unknown"),
        ([{"k": 1}, {"k": "a"}], "column 'k' given for 'in' has values of several types: int and str"),
    ):
        with pytest.raises(GivenRowsError, match=words):
            pipeline_run(env, {"in": rows})


def test_a_sinks_rows_have_the_columns_it_declares(orders: DataStream, pipeline_run: Run) -> None:
    env = sink(orders.select("v", "k"), schema="k STRING, v BIGINT", on_schema_change="evolve")
    result = pipeline_run(env, {"orders": [{"k": "b", "v": 2}, {"k": "a", "v": 1}]})
    assert result.sink("out").columns == {"k": "STRING", "v": "BIGINT"}
    assert result.sink("out").rows == [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    with pytest.raises(OperatorNotFoundError, match="has no sink 'outt'"):
        result.sink("outt")


def test_sinks_refuse_rows_as_in_production(orders: DataStream, pipeline_run: Run) -> None:
    env = sink(orders.select(i="make_interval(v)").name("odd"))
    with pytest.raises(PipelineFailedError, match="parquet files cannot hold"):
        pipeline_run(env, {"orders": [{"k": "a", "v": 2}]})


def test_databases_are_not_accessed(env: StreamExecutionEnvironment, pipeline_run: Run) -> None:
    source = Jdbc("jdbc:postgresql://nowhere.invalid/x", table="t", schema="k STRING")
    env.from_source(source, "in").sink_to(Jdbc("jdbc:postgresql://nowhere.invalid/x", table="u"), mode="append").name(
        "out"
    )
    assert pipeline_run(env, {"in": [{"k": "a"}]}).sink("out").rows == [{"k": "a"}]


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_nondeterministic_rows_are_computed_once(mode: str, orders: DataStream, pipeline_run: Run) -> None:
    coins = orders.with_columns(coin="rand()").name("coins")
    sink(coins.stage("cut").filter("coin < 0.5", rejects="tails").name("heads"), "heads")
    sink(coins, "all")
    pipeline = with_options(orders.environment.pipeline(), shuffle_mode=mode)
    result = pipeline_run(pipeline, {"orders": [{"k": str(number)} for number in range(40)]})
    found = {row["coin"] for row in result.rows("coins")}
    assert len(found) == 40
    assert {row["coin"] for row in result.sink("all").rows} == found
    heads, tails = ({row["coin"] for row in result.rows(name)} for name in ("heads", "heads.tails"))
    assert heads | tails == found
    assert heads == {row["coin"] for row in result.sink("heads").rows}


def test_contracts_are_counted_and_fail_as_in_production(orders: DataStream, pipeline_run: Run) -> None:
    sink(orders.expect("known", "v IS NOT NULL").expect("positive", "v > 0", on_violation="fail"))
    rows = {"orders": [{"k": "a", "v": 1}, {"k": "b"}]}
    with pytest.raises(PipelineFailedError) as failed:
        pipeline_run(orders.environment, rows)
    assert "1 of 2 rows violate 'positive'\n  nothing of this task was published" in str(failed.value)
    assert failed.value.failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    result = pipeline_run(orders.environment, {"orders": [{"k": "a", "v": 1}]})
    assert {name: count.violations for name, count in result.contracts.items()} == {"known": 0, "positive": 0}
    with pytest.raises(OperatorNotFoundError, match="did you mean 'known'?"):
        result.contract("knwn")


@pytest.mark.ci
def test_totals_are_counted_and_fail_as_in_production(orders: DataStream, pipeline_run: Run) -> None:
    known = orders.filter("v IS NOT NULL").name("known")
    orders.expect_in("listed", known, "k", to="lost")
    orders.expect_fresh("new", "day", "1 day")
    sink(orders.expect_rows("enough", at_least=2, on_violation="fail").limit(1))
    result = pipeline_run(orders.environment, {"orders": [{"k": "a", "v": 1, "day": "2013-01-01"}, {"k": "b"}]})
    assert {name: count.is_violated for name, count in result.contracts.items()} == {
        "listed": True,
        "new": False,
        "enough": False,
    }
    assert result.contract("enough").total == "2 rows"
    assert result.rows("listed.lost")[0]["k"] == "b"
    with pytest.raises(PipelineFailedError, match="'enough' does not hold: 1 rows, allowed: at least 2 rows"):
        pipeline_run(orders.environment, {"orders": [{"k": "a"}]})


def test_running_up_to_an_operator_checks_contracts_before_it(orders: DataStream, pipeline_run: Run) -> None:
    checked = orders.expect("known", "v > 0", on_violation="fail").select("k").name("keys")
    sink(checked)
    with pytest.raises(PipelineFailedError, match="1 of 1 rows violate 'known'"):
        pipeline_run(orders.environment, {"orders": [{"k": "a", "v": 0}]}, until="keys")


def test_failures_have_the_message_of_production(orders: DataStream, pipeline_run: Run) -> None:
    sink(orders.select("k", w="1 / v").name("divided"))
    with pytest.raises(PipelineFailedError) as failed:
        pipeline_run(orders.environment, {"orders": [{"k": "a", "v": 0}]})
    assert str(failed.value).startswith("pipeline 'sales', operator 'divided': [DIVIDE_BY_ZERO]")
    assert f"declared at {__file__}:" in str(failed.value)


def test_lazy_failures_have_the_message_of_production(orders: DataStream, pipeline_run: Run) -> None:
    sink(orders.select("k", w="1 / v").name("divided").select("k"))
    result = pipeline_run(orders.environment, {"orders": [{"k": "a", "v": 0}]})
    assert result.rows("out") == [{"k": "a"}]
    with pytest.raises(PipelineFailedError, match=r"operator 'divided': .*DIVIDE_BY_ZERO"):
        result.rows("divided")


def test_running_up_to_an_operator_runs_only_its_inputs(orders: DataStream, pipeline_run: Run) -> None:
    other = orders.environment.from_source(Csv("/other"), "other")
    sink(orders.filter("v > 1").name("big"), "big_orders")
    sink(orders.join(other, on="k").name("joined"))
    given = {"orders": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]}
    result = pipeline_run(orders.environment, given, until="big")
    result.assert_rows("big", [{"k": "b"}])
    assert pipeline_run(orders.environment, given, until="big_orders").sink("big_orders").rows
    with pytest.raises(OperatorNotFoundError, match="'joined' was not run"):
        result.rows("joined")
    with pytest.raises(OperatorNotFoundError, match="did you mean 'joined'?"):
        pipeline_run(orders.environment, given, until="joind")


def test_a_difference_names_the_operator(orders: DataStream, pipeline_run: Run) -> None:
    result = pipeline_run(sink(orders), {"orders": [{"k": "a"}]})
    with pytest.raises(AssertionError, match="'orders': rows differ: 1 found, 2 expected"):
        result.assert_rows("orders", [{"k": "a"}, {"k": "b"}])


def test_duplicate_column_names_cannot_become_a_dict(orders: DataStream, pipeline_run: Run) -> None:
    env = sink(orders.transform(twice).name("twice").sql("SELECT count(*) n FROM {input}"))
    result = pipeline_run(env, {"orders": [{"k": "a"}]})
    with pytest.raises((SameNameError, PipelineFailedError), match="several columns are called k"):
        result.rows("twice")


def test_values_of_all_kinds_come_back(orders: DataStream, pipeline_run: Run) -> None:
    every = orders.select(
        struct="named_struct('a', v, 'b', array(seen))",
        map="map(k, day)",
        binary="CAST(k AS BINARY)",
        months="make_ym_interval(1, v)",
        local="CAST(seen AS TIMESTAMP_NTZ)",
    ).name("every")
    given = {"k": "a", "v": 2, "day": "2013-01-31", "seen": datetime(2013, 1, 31, 5)}
    (found,) = pipeline_run(sink(every), {"orders": [given]}).rows("every")
    assert found == {
        "struct": {"a": 2, "b": [datetime(2013, 1, 31, 5)]},
        "map": {"a": date(2013, 1, 31)},
        "binary": b"a",
        "months": "INTERVAL '1-2' YEAR TO MONTH",
        "local": datetime(2013, 1, 31, 5),
    }


def twice(rows: DataFrame) -> DataFrame:
    return rows.select("k", "k")


def test_nothing_is_written_and_the_session_is_unchanged(
    env: StreamExecutionEnvironment, pipeline_run: Run, spark: SparkSession, tmp_path: Path
) -> None:
    stream = env.from_source(Csv(f"{tmp_path}/in", schema="k STRING"), "in").with_columns(r="rand()")
    stream.stage("cut").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        result = pipeline_run(env, {"in": [{"k": "a"}]})
        assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert list(tmp_path.iterdir()) == []
    root = Path(result.rehearsal.root)
    assert root.is_dir()
    del result
    gc.collect()  # what is run and who looks at it know each other
    assert not root.exists()


def test_sinks_are_written_on_request(
    env: StreamExecutionEnvironment, pipeline_run: Run, spark: SparkSession, tmp_path: Path
) -> None:
    env.from_source(Csv("/nowhere", schema="k STRING"), "in").with_columns(r="rand()").sink_to(
        Parquet(f"{tmp_path}/{{{{ ds }}}}")
    ).name("out")
    result = pipeline_run(env, {"in": [{"k": "a"}]}, day="2013-01-02", write_sinks=True)
    (written,) = spark.read.parquet(f"{tmp_path}/2013-01-02").collect()
    assert result.sink("out").rows == [written.asDict()]


def test_a_sink_that_is_written_again_has_the_rows_of_the_last_run(
    env: StreamExecutionEnvironment, pipeline_run: Run, spark: SparkSession, tmp_path: Path
) -> None:
    """Two runs with the same id of an execution would name their files alike, and remove the new ones as old."""
    env.from_source(Csv("/nowhere", schema="k STRING"), "in").sink_to(Parquet(f"{tmp_path}/out"))
    for key in "ab":
        pipeline_run(env, {"in": [{"k": key}]}, write_sinks=True)
        assert [row.k for row in spark.read.parquet(f"{tmp_path}/out").collect()] == [key]


def test_parameters_are_those_of_the_pipeline(pipeline_run: Run) -> None:
    env = StreamExecutionEnvironment("p", params={"least": 5})
    stream = env.from_source(Csv("/nowhere", schema="v INT"), "in")
    sink(stream.filter("v >= :least").with_columns(day=":run_date").name("kept"))
    rows = {"in": [{"v": 5}, {"v": 6}]}
    result = pipeline_run(env, rows, params={"least": 6}, day="2013-01-02")
    assert result.rows("kept") == [{"v": 6, "day": "2013-01-02"}]
    assert len(pipeline_run(env, rows).rows("kept")) == 2
    for params, words in (
        ({"leats": 6}, "did you mean 'least'?"),
        ({"least": "six"}, "parameter 'least' is 'six'\n  allowed: int"),
        ({"least": None}, "parameter 'least' is None"),
    ):
        with pytest.raises(GraphCompilerError) as refused:
            pipeline_run(env, rows, params=params)
        assert words in str(refused.value)


@pytest.mark.parametrize(
    ("day", "now"),
    [("2013-01-31", datetime(2013, 1, 31)), (datetime(2013, 1, 31, 5, 6, 7, 8), datetime(2013, 1, 31, 5, 6, 7, 8))],
)
def test_the_current_time_is_that_of_the_given_day(
    day: str | date, now: datetime, orders: DataStream, pipeline_run: Run
) -> None:
    timed = orders.select(now="localtimestamp()", day="current_date()", ds=":run_date").name("timed")
    result = pipeline_run(sink(timed), {"orders": [{"k": "a"}]}, day=day)
    assert result.rows("timed") == [{"now": now, "day": date(2013, 1, 31), "ds": "2013-01-31"}]


def test_the_day_is_always_text(orders: DataStream, pipeline_run: Run) -> None:
    env = sink(orders.select(day=":run_date").name("days"))
    rows = {"orders": [{"k": "a"}]}
    for day in ("2013-01-02", "20130102", date(2013, 1, 2)):
        assert pipeline_run(env, rows, day=day).rows("days") == [{"day": "2013-01-02"}]
    with pytest.raises(GraphCompilerError, match="day is '2013-1-2'"):
        pipeline_run(env, rows, day="2013-1-2")


def test_rows_for_a_source_are_given_only_once(orders: DataStream, pipeline_run: Run) -> None:
    orders.uid("u")
    with pytest.raises(GraphCompilerError, match="'orders' and 'u' are one source"):
        pipeline_run(sink(orders), {"orders": [{"k": "a"}], "u": []})


@pytest.mark.ci
def test_real_sources_give_the_reference_rows(pipeline_run: Run, january: Path) -> None:
    result = pipeline_run(flights, REAL, params={"input": str(january)})
    for name in ("late_routes", "by_weather", "worst_routes"):
        columns, rows = expected(reports(january)[name])
        found = result.sink(name)
        same = [tuple(row.values()) for row in found.rows]
        assert_same_rows((list(found.columns), same), (columns, rows))
