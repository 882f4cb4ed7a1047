"""Topics of Kafka as a stream: each record is published once, and what would be lost is said."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Kafka, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.spark_runtime.connectors.source import read_source
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.spark_internals.kafka_admin import KafkaAdmin
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.spark_runtime.streams.batch_inputs import BatchInputs
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.streams.batch_log import ReadSoFar
from tests.harness.kafka_broker import Broker
from tests.harness.position_runs import Runs
from tests.harness.savepoints import reset, save
from tests.lake.dying import die

pytestmark = pytest.mark.kafka
FIELDS = "id INT, word STRING, at TIMESTAMP"
Rows = list[tuple[Any, ...]]


def declared(
    folder: Path,
    servers: str,
    *topics: str,
    options: Any = (),
    is_stream: bool = True,
    config: Mapping[str, str] = MappingProxyType({}),
) -> StreamExecutionEnvironment:
    """Keep all records, and count them by word."""
    env = StreamExecutionEnvironment("orders", config={"execution.runtime-mode": "AUTOMATIC", **config})
    source = Kafka(topics, bootstrap_servers=servers, options=options)
    records = env.from_source(source, "orders", unbounded=is_stream).uid("orders")
    read = f"from_json(CAST(value AS STRING), '{FIELDS}', map('mode', 'FAILFAST'))"
    rows = records.select("topic", "partition", "offset", row=read)
    rows = rows.select("topic", "partition", "offset", id="row.id", word="row.word", at="row.at")
    rows.select("id", "word").sink_to(Parquet(f"{folder}/rows"), mode="append").name("rows").uid("rows")
    counts = rows.key_by("word").aggregate(n="count(*)", ids="sum(id)").uid("counted")
    counts.sink_to(Parquet(f"{folder}/counts"), mode="merge", keys="word").name("counts").uid("counts")
    return env


def order(id: int, word: str = "a") -> dict[str, object]:
    return {"id": id, "word": word, "at": f"2024-01-01T00:{id % 60:02}:00Z"}


def ids(spark: SparkSession, folder: Path) -> list[int]:
    return sorted(id for id, _ in spark.read.parquet(f"{folder}/rows").collect())


def counts(spark: SparkSession, folder: Path) -> Rows:
    return sorted(map(tuple, spark.read.parquet(f"{folder}/counts").collect()))


def test_records_are_published_once_run_by_run(tmp_path: Path, spark: SparkSession, broker: Broker, topic: str) -> None:
    runs = Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark)
    broker.send(topic, order(1), order(2, "b"))
    assert runs.run("one") == []
    broker.send(topic, order(3))
    assert runs.run("two") == []
    assert ids(spark, tmp_path) == [1, 2, 3]
    assert counts(spark, tmp_path) == [("a", 2, 4), ("b", 1, 2)]
    assert runs.run("three") == []
    assert runs.report().batches == ()
    assert ids(spark, tmp_path) == [1, 2, 3]


def test_the_same_pipeline_without_unbounded_reads_what_is_there(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    broker.send(topic, order(1), order(2, "b"), order(3))
    assert Runs(declared(tmp_path, broker.servers, topic, is_stream=False), tmp_path, spark).run("one") == []
    assert ids(spark, tmp_path) == [1, 2, 3]
    assert counts(spark, tmp_path) == [("a", 2, 4), ("b", 1, 2)]


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ((BatchInputs, "check"), False),
        ((SinkCommitter, "prepare"), True),
        ((Ledger, "decide"), True),
        ((Ledger, "finish"), True),
        ((stream_query, "run_region"), True),
    ],
    ids=str,
)
def test_a_driver_that_dies_in_a_batch_publishes_its_records_once(
    tmp_path: Path,
    spark: SparkSession,
    broker: Broker,
    topic: str,
    *,
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[Any, str],
    after: bool,
) -> None:
    runs = Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark)
    broker.send(topic, order(1), order(2, "b"))
    die(monkeypatch, *place, after=after)
    assert len(runs.run("one")) == 1
    broker.send(topic, order(3))
    assert runs.run("one") == []
    assert ids(spark, tmp_path) == [1, 2, 3]
    assert counts(spark, tmp_path) == [("a", 2, 4), ("b", 1, 2)]


def test_a_topic_that_was_created_again_is_refused(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    runs = Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark)
    broker.send(topic, order(1), order(2))
    assert runs.run("one") == []
    broker.remove(topic)
    broker.create(topic)
    broker.send(topic, *map(order, range(11, 16)))
    (failure,) = runs.run("two")
    assert f"topic {topic} was removed and created again" in failure
    assert ids(spark, tmp_path) == [1, 2]


def test_records_that_retention_has_removed_before_a_run_has_read_them_are_not_left_out_silently(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark)
    broker.send(topic, order(1), order(2))
    assert runs.run("one") == []
    broker.send(topic, *map(order, range(3, 8)))
    broker.forget(topic, before=4)
    (failure,) = runs.run("two")
    assert f"offsets 2 to 3 of {topic}-0 are gone: the topic's retention has removed them" in failure
    assert "failOnDataLoss" in failure
    assert ids(spark, tmp_path) == [1, 2]
    loses = declared(tmp_path, broker.servers, topic, options={"failOnDataLoss": False})
    assert Runs(loses, tmp_path, spark, tries=5).run("two") == []
    assert ids(spark, tmp_path) == [1, 2, 5, 6, 7]
    assert "offsets 2 to 3" in caplog.text
    assert "failOnDataLoss is false, so the stream continues" in caplog.text
    assert Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark, tries=8).run("three") == []


def test_a_savepoint_knows_the_topics_and_continues_behind_what_is_published(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    runs = Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark)
    broker.send(topic, order(1), order(2, "b"))
    assert runs.run("one") == []
    saved = save(f"{tmp_path}/staging")
    reset(f"{tmp_path}/staging", "orders")
    broker.send(topic, order(3))
    env = declared(tmp_path, broker.servers, topic, config={"execution.savepoint.path": saved})
    assert Runs(env, tmp_path, spark, tries=3).run("two") == []
    assert ids(spark, tmp_path) == [1, 2, 3]
    assert counts(spark, tmp_path) == [("a", 2, 4), ("b", 1, 2)]
    reset(f"{tmp_path}/staging", "orders")
    broker.remove(topic)
    broker.create(topic)
    broker.send(topic, *map(order, range(11, 16)))
    (failure,) = Runs(env, tmp_path, spark, tries=6).run("three")
    assert f"topic {topic} was removed and created again" in failure


def test_a_topic_with_more_partitions_is_read_from_their_beginning(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    runs = Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark)
    broker.send(topic, order(1))
    assert runs.run("one") == []
    broker.grow(topic, 2)
    broker.send(topic, order(2), partition=1)
    assert runs.run("two") == []
    assert ids(spark, tmp_path) == [1, 2]


def test_records_of_aborted_transactions_are_left_out(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    broker.send(topic, order(1), commits=False)
    broker.send(topic, order(2), commits=True)
    assert Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark).run("one") == []
    assert ids(spark, tmp_path) == [2]
    other = tmp_path / "batch"
    assert Runs(declared(other, broker.servers, topic, is_stream=False), other, spark).run("one") == []
    assert ids(spark, other) == [2]
    all_of_them = tmp_path / "all"
    options = {"Kafka.Isolation.Level": "read_uncommitted"}
    env = declared(all_of_them, broker.servers, topic, options=options)
    assert Runs(env, all_of_them, spark).run("one") == []
    assert ids(spark, all_of_them) == [1, 2]


def test_several_sources_keep_their_own_offsets(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    """The first one is read twice by the query: Spark logs its offsets twice."""
    other = f"{topic}.other"
    broker.create(other)
    env = StreamExecutionEnvironment("texts", config={"execution.runtime-mode": "AUTOMATIC"})
    first, second = (
        env.from_source(Kafka(name, bootstrap_servers=broker.servers), uid, unbounded=True)
        .uid(uid)
        .select(text="CAST(value AS STRING)")
        for name, uid in ((topic, "first"), (other, "second"))
    )
    for rows, name in ((first, "a"), (first.filter("text > 'b'").union(second), "both")):
        rows.sink_to(Parquet(f"{tmp_path}/{name}"), mode="append").name(name).uid(name)
    runs = Runs(env, tmp_path, spark)
    broker.send(topic, (None, "a"), (None, "c"))
    assert runs.run("one") == []
    broker.send(other, (None, "d"))
    assert runs.run("two") == []
    found = {
        name: sorted(text for (text,) in spark.read.parquet(f"{tmp_path}/{name}").collect()) for name in ("a", "both")
    }
    assert found == {"a": ["a", "c"], "both": ["c", "d"]}
    broker.send(other, (None, "e"), (None, "f"))
    broker.forget(other, before=2)
    (failure,) = runs.run("three")
    assert f"offsets 1 to 1 of {other}-0 are gone" in failure


def test_windows_over_records_are_joined_with_a_table(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    (tmp_path / "names.csv").write_text("word,name\na,Anna\nb,Bert\n")
    env = StreamExecutionEnvironment("windows", config={"execution.runtime-mode": "AUTOMATIC"})
    records = env.from_source(Kafka(topic, bootstrap_servers=broker.servers), "orders", unbounded=True).uid("orders")
    rows = records.select(row=f"from_json(CAST(value AS STRING), '{FIELDS}', map('mode', 'FAILFAST'))")
    rows = rows.select(id="row.id", word="row.word", at="row.at")
    rows = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 minute")
    names = env.from_source(Csv(f"{tmp_path}/names.csv", schema="word STRING, name STRING"), "names")
    named = rows.join(names, on="word", how="left")
    counts = named.key_by("name").window(TumblingEventTimeWindows("at", "10 minutes")).aggregate(n="count(*)")
    counts.uid("counted").select("name", "n").sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)
    broker.send(topic, order(1), order(2, "b"), order(3))
    assert runs.run("one") == []
    broker.send(topic, order(12, "b"))
    assert runs.run("two") == []
    assert sorted(map(tuple, spark.read.parquet(f"{tmp_path}/out").collect())) == [("Anna", 2), ("Bert", 1)]


def test_a_limit_makes_several_batches(tmp_path: Path, spark: SparkSession, broker: Broker, topic: str) -> None:
    broker.send(topic, *map(order, range(7)))
    env = declared(tmp_path, broker.servers, topic, options={"maxOffsetsPerTrigger": 3})
    runs = Runs(env, tmp_path, spark)
    assert runs.run("one") == []
    assert [each.number for each in runs.report().batches] == [0, 1, 2]
    progress = [each.progress for each in runs.report().batches if each.progress is not None]
    assert [(each.state_rows, each.behind) for each in progress] == [(1, 4), (1, 1), (1, 0)]
    assert ids(spark, tmp_path) == list(range(7))


def test_a_record_that_is_malformed_fails_the_batch(
    tmp_path: Path, spark: SparkSession, broker: Broker, topic: str
) -> None:
    broker.send(topic, order(1), (None, "no JSON"))
    (failure,) = Runs(declared(tmp_path, broker.servers, topic), tmp_path, spark).run("one")
    assert "MALFORMED_RECORD" in failure.upper()


def test_a_broker_that_does_not_answer_and_a_topic_that_is_not_there_are_named(
    tmp_path: Path, spark: SparkSession, broker: Broker
) -> None:
    (failure,) = Runs(declared(tmp_path, broker.servers, "nothing"), tmp_path, spark).run("one")
    assert f"a topic of nothing at {broker.servers} does not exist, or its user may not see it" in failure
    bounds = {"kafka.request.timeout.ms": "500", "kafka.default.api.timeout.ms": "1000"}
    other = tmp_path / "other"
    (failure,) = Runs(declared(other, "127.0.0.1:1", "orders", options=bounds), other, spark).run("one")
    assert "Kafka has not answered for orders at 127.0.0.1:1: TimeoutException" in failure


def test_a_topic_without_new_records_needs_no_spark(broker: Broker, topic: str, spark: SparkSession) -> None:
    # Imported here: Airflow reads its settings when it is imported, and this module is collected with all others.
    from graph_compiler.airflow_backend.task.arrivals import are_topics_read

    broker.grow(topic, 2)
    broker.send(topic, order(1), order(2))

    ids: dict[str, str] = {}

    def is_read(*offsets: int, name: str = topic, servers: str = broker.servers, **options: str) -> bool:
        known = ReadSoFar(files={}, offsets={topic: dict(enumerate(offsets))}, topic_ids=ids)
        return are_topics_read(Kafka(name, bootstrap_servers=servers, options=options), known)

    assert is_read(2, 0)
    with KafkaAdmin.connected(spark, {"bootstrap.servers": broker.servers}) as admin:
        ids[topic] = str(admin.topic_ids([topic])[topic])
    assert is_read(2, 0)
    ids[topic] = "AAAAAAAAAAAAAAAAAAAAAA"
    assert not is_read(2, 0), "it was created again, with as many records"
    ids.clear()
    assert is_read(2, 0, **{"kafka.isolation.level": "read_committed", "maxOffsetsPerTrigger": "5"})
    assert not is_read(1, 0)
    assert not is_read(3, 0), "it was created again"
    assert not is_read(2), "it has a new partition"
    assert not is_read(2, 0, name="others")
    assert not is_read(2, 0, servers="127.0.0.1:1")
    assert not is_read(2, 0, **{"kafka.security.protocol": "SASL_SSL"})
    broker.send(topic, order(3), partition=1)
    assert not is_read(2, 0)


def test_a_plan_asks_no_broker(spark: SparkSession) -> None:
    rows = read_source(Kafka("orders", bootstrap_servers="127.0.0.1:1"), spark, scans=False)
    assert rows.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
