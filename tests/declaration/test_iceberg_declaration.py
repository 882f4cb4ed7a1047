"""What is refused of a declared table of Iceberg, and what of it is rendered, hidden and passed on."""

from typing import Literal

import pytest

from graph_compiler import Delta, Iceberg, Range, Secret, StreamExecutionEnvironment
from graph_compiler.compiler.checks.validation import find_warnings
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors.iceberg import partitions_words
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.describe.deployability import check_deployable
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.options.reader import read_options

PASSWORD = Secret("lake")


def messages(connector: Iceberg) -> list[str]:
    return [problem.message for problem in connector.problems()]


@pytest.mark.parametrize(
    "name", ["sold", "db.sold", "lake.db.", "lake..sold", "lake.db.sold; DROP TABLE x", "lake.db.a b", ""]
)
def test_a_name_has_a_catalog_a_namespace_and_a_table(name: str) -> None:
    assert any(message.startswith("its name is") for message in messages(Iceberg(name)))


@pytest.mark.parametrize("name", ["lake.db.sold", "lake.a.b.sold", "lake.db.sold-eu", "lake.db.{{ params.table }}"])
def test_a_name_may_have_several_namespaces_and_templates(name: str) -> None:
    assert messages(Iceberg(name)) == []


@pytest.mark.parametrize("rendered", ["lake.db.x y", "lake.db.x`", "x", "lake.db.x VERSION AS OF 1"])
def test_a_rendered_name_is_that_of_one_table(rendered: str) -> None:
    connector = Iceberg("lake.db.{{ params.table }}")
    (problem,) = connector.rendering_problems({"name": rendered})
    assert "is not the name of one table" in problem.message


@pytest.mark.parametrize("key", ["jdbc.password", "token", "credential", "s3.secret-access-key", "s3.access-key-id"])
def test_a_secret_in_plain_text_is_refused(key: str) -> None:
    (message,) = messages(Iceberg("lake.db.sold", catalog={"type": "rest", key: "canary"}))
    assert key in message
    assert "canary" not in message
    assert messages(Iceberg("lake.db.sold", catalog={"type": "rest", key: PASSWORD})) == []


@pytest.mark.parametrize("warehouse", ["s3a://lake/warehouse", "s3://lake", "gs://lake", "abfss://lake@x/y"])
def test_a_catalog_of_files_in_an_object_store_is_refused(warehouse: str) -> None:
    (message,) = messages(Iceberg("lake.db.sold", catalog={"type": "hadoop", "warehouse": warehouse}))
    assert "one of two commits would be lost" in message


@pytest.mark.parametrize("warehouse", ["/lake", "file:///lake", "hdfs://name:8020/lake", "{{ params.warehouse }}"])
def test_a_catalog_of_files_elsewhere_is_not(warehouse: str) -> None:
    assert messages(Iceberg("lake.db.sold", catalog={"type": "hadoop", "warehouse": warehouse})) == []


@pytest.mark.parametrize("partition", ["days(at", "day(at)", "bucket(id)", "bucket(0, id)", "a; b", "truncate(4,4,id)"])
def test_a_partition_is_a_column_or_a_transform(partition: str) -> None:
    assert any("partitioned_by" in one for one in messages(Iceberg("lake.db.t", partitioned_by=("day", partition))))


def test_what_contradicts_itself_is_refused() -> None:
    assert messages(Iceberg("lake.db.t", version="a", timestamp="2013-01-01")) == ["it has version and timestamp"]
    assert messages(Iceberg("lake.db.t", create_if_missing=True)) == ["create_if_missing is set, and it has no schema"]


def test_what_is_for_sources_is_not_for_sinks() -> None:
    assert "version is for sources" in str(Iceberg("lake.db.t", version="a").why_not_writable())
    assert "timestamp is for sources" in str(Iceberg("lake.db.t", timestamp="2013-01-01").why_not_writable())
    assert "partitioned_by is for sinks" in str(Iceberg("lake.db.t", partitioned_by=("day",)).why_not_readable())
    assert Iceberg("lake.db.t").why_not_writable() is Iceberg("lake.db.t").why_not_readable() is None


@pytest.mark.parametrize("key", ["credential", "jdbc.password", "token"])
def test_a_secret_among_sparks_settings_of_a_catalog_is_refused(key: str) -> None:
    env = StreamExecutionEnvironment("lake", config={f"spark.sql.catalog.lake.{key}": "canary"})
    env.from_source(Iceberg("lake.db.orders"), "orders").sink_to(Iceberg("lake.db.sold"), mode="append").name("sold")
    with pytest.raises(
        InvalidPipelineError, match=r"catalog=\{'…': Secret\('connection id'\)\} of an Iceberg table"
    ) as raised:
        compile_pipeline(env.pipeline())
    assert "canary" not in str(raised.value)


def test_properties_are_rendered_hidden_and_passed_on() -> None:
    connector = Iceberg("lake.db.t", catalog={"uri": "jdbc:{{ params.db }}", "jdbc.password": PASSWORD, "clients": 4})
    assert connector.texts() == {"name": "lake.db.t", "catalog.uri": "jdbc:{{ params.db }}", "catalog.clients": "4"}
    assert connector.secrets() == {"catalog.jdbc.password": PASSWORD}
    rendered = connector.with_texts({"name": "lake.db.u", "catalog.uri": "jdbc:x"})
    assert (rendered.name, rendered.catalog_settings()) == (
        "lake.db.u",
        {
            "spark.sql.catalog.lake.uri": "jdbc:x",
            "spark.sql.catalog.lake.jdbc.password": PASSWORD,
            "spark.sql.catalog.lake.clients": "4",
        },
    )


def test_a_table_has_a_uri_unless_its_name_changes_from_run_to_run() -> None:
    assert Iceberg("lake.db.sold").asset_uri(str) == "x-iceberg-table:///lake/db/sold"


def pipeline(mode: Literal["append", "overwrite-partitions"]) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("lake")
    env.from_source(Iceberg("lake.db.orders"), "orders").sink_to(Iceberg("lake.db.sold"), mode=mode).name("sold")
    return env


def test_partitions_are_those_of_the_table() -> None:
    compile_pipeline(pipeline("overwrite-partitions").pipeline())


def test_partitions_of_the_sink_are_refused() -> None:
    env = StreamExecutionEnvironment("lake")
    orders = env.from_source(Iceberg("lake.db.orders"), "orders")
    orders.sink_to(Iceberg("lake.db.sold"), mode="append", partition_by=("day",)).name("sold")
    with pytest.raises(InvalidPipelineError, match="the partitions of Iceberg are its table's own"):
        compile_pipeline(env.pipeline())


@pytest.mark.parametrize(("found", "refused"), [("4.3.0", True), ("4.2.1", True), ("4.1.4", False), (None, False)])
def test_another_spark_is_refused_before_anything_runs(
    found: str | None, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_compiler.deployment.describe.deployability.installed_version", lambda _: found)
    compiled = compile_pipeline(pipeline("append").pipeline())
    if not refused:
        return check_deployable(compiled)
    with pytest.raises(InvalidPipelineError, match=r"iceberg-spark-runtime-4\.1_2\.13:1\.12\.0") as raised:
        check_deployable(compiled)
    assert str(raised.value).count("no Iceberg that is tested runs on Spark 4.") == 2
    return None


@pytest.mark.parametrize(
    ("source", "only_new", "words"),
    [
        (Iceberg("lake.db.t"), "at", "the position in a table is the commit that was read"),
        (Iceberg("lake.db.t", version="monday"), True, "only_new is set, and version too"),
        (Delta("/lake/t", since=1), True, "only_new is set, and since too"),
        (Delta("/lake/t", since=3, version=2), False, "since is 3, and version is 2"),
        (Delta("/lake/t", since=3, timestamp="2024-01-01"), False, "it has timestamp and since"),
        (Delta("/lake/t", since=-1), False, "since is -1"),
    ],
)
def test_what_a_source_cannot_read(source: Iceberg | Delta, only_new: bool | str, words: str) -> None:
    env = StreamExecutionEnvironment("lake")
    rows = env.from_source(source, "orders", only_new=only_new).uid("orders")
    rows.sink_to(Iceberg("lake.db.sold"), mode="append").name("sold")
    with pytest.raises(InvalidPipelineError, match=words):
        compile_pipeline(env.pipeline())
    sink = Iceberg("lake.db.t", since="a", changes=True)
    assert sink.why_not_writable() == "since and changes are for sources; a sink publishes the next snapshot"


@pytest.mark.parametrize(("changes", "words"), [(False, "reads only new rows"), (True, "reads only what has changed")])
def test_what_explain_says_of_a_source_that_reads_only_what_is_new(changes: bool, words: str) -> None:
    assert Source(Delta("/lake/t", changes=changes), only_new=True).position_words() == words


@pytest.mark.parametrize(
    ("sink", "is_warned"),
    [
        (Delta("/lake/sold"), True),
        (Delta("file:///lake/sold"), True),
        (Delta("hdfs://name:8020/lake/sold"), False),
        (Iceberg("lake.db.sold", catalog={"type": "hadoop", "warehouse": "/lake"}), True),
        (Iceberg("lake.db.sold", catalog={"type": "hadoop", "warehouse": "hdfs://name:8020/lake"}), False),
        (Iceberg("lake.db.sold", catalog={"type": "jdbc", "warehouse": "/lake"}), False),
        (Iceberg("lake.db.sold"), False),
    ],
)
def test_validate_warns_of_tables_that_two_drivers_may_not_write(sink: Iceberg | Delta, is_warned: bool) -> None:
    env = StreamExecutionEnvironment("lake")
    env.from_source(Range(0, 3), "rows").sink_to(sink, mode="append").name("sold").uid("sold")
    pipeline = env.pipeline()
    options, _ = read_options(pipeline.config)
    found = [str(warning) for warning in find_warnings(pipeline, options)]
    assert bool([words for words in found if "which is for trying out" in words]) is is_warned


def test_a_partition_that_was_dropped_is_none() -> None:
    fields = [("void", "day"), ("bucket[16]", "id"), ("void", "None"), ("identity", "city")]
    assert partitions_words(fields) == ("bucket(16, id)", "city")
