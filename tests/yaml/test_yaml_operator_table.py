"""Each call of the API in Python and in YAML: one declaration. Nothing of the API is left out."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
import yaml

from graph_compiler import (
    Csv,
    DataStream,
    Delta,
    EventTimeSessionWindows,
    Files,
    FunctionSink,
    FunctionSource,
    Iceberg,
    Jdbc,
    Json,
    Kafka,
    Merge,
    Orc,
    Parquet,
    Range,
    Rate,
    ResourceSpec,
    Secret,
    SlidingEventTimeWindows,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    Table,
    Text,
    TumblingEventTimeWindows,
    Values,
    param,
)
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Operator, Source
from graph_compiler.declaration.partitioners import (
    ForwardForConsecutiveHashPartitioner,
    ForwardForUnspecifiedPartitioner,
    Partitioner,
)
from graph_compiler.declaration.streams import ConnectedStreams, KeyedStream, WindowedStream
from graph_compiler.declaration.transformations import PartitionTransformation, Transformation
from graph_compiler.declaration.windows import Window
from graph_compiler.projects.yaml.export import export_pipeline
from graph_compiler.projects.yaml.forms import leaves as kinds_below
from graph_compiler.projects.yaml.reader import parse_pipeline
from tests.architecture.test_modules import leaves
from tests.yaml import yaml_functions as functions
from tests.yaml.equality import without_lines

MODULE = functions.__name__
HEAD = """\
name: p
sources:
  s: {parquet: /in}
  t: {parquet: /other}
"""
MADE_BY_THE_COMPILER = {
    *("IterationHead", "IterationTail"),
    *(ForwardForConsecutiveHashPartitioner.__name__, ForwardForUnspecifiedPartitioner.__name__),
}


@dataclass(frozen=True)
class Case:
    """Steps of YAML, and the same calls on the streams `s` and `t`."""

    steps: str
    declare: Callable[[DataStream, DataStream], object]


HOUR = TumblingEventTimeWindows("at", "1 hour")
CASES = (
    Case("[{name: q, from_target: {parquet: /o}, schema: a INT, backfill: latest}, {from: q, limit: 1}]", lambda s, _: s.environment.from_target(Parquet("/o"), "q", schema="a INT", backfill="latest").limit(1)),
    Case("[{name: q, from_target: {csv: /o}, schema: a INT}, {from: q, limit: 1}]", lambda s, _: s.environment.from_target(Csv("/o"), "q", schema="a INT").limit(1)),
    Case("[{from: s, filter: v > 1, rejects: r}]", lambda s, _: s.filter("v > 1", rejects="r")),
    Case("[{from: s, filter: v > 1, rejects: r}, {get_side_output: r, as: rest}, {filter: w}]", lambda s, _: s.filter("v > 1", rejects="r").get_side_output("r").filter("w")),
    Case("[{from: s, select: [a, b]}]", lambda s, _: s.select("a", "b")),
    Case("[{from: s, select: [a, {b: c + 1, d e: f}]}]", lambda s, _: s.select("a", **{"b": "c + 1", "d e": "f"})),
    Case("[{from: s, with_columns: {on: c + 1, d e: f}}]", lambda s, _: s.with_columns({"on": "c + 1", "d e": "f"})),
    Case("[{from: s, assign_timestamps_and_watermarks: at, max_out_of_orderness: 5 minutes}]", lambda s, _: s.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")),
    Case("[{from: s, drop: [a, b]}]", lambda s, _: s.drop("a", "b")),
    Case("[{from: s, drop: a}]", lambda s, _: s.drop("a")),
    Case("[{from: s, rename: {a: b}}]", lambda s, _: s.rename({"a": "b"})),
    Case("[{from: s, cast: {a: INT}}]", lambda s, _: s.cast(a="INT")),
    Case("[{from: s, flat_map: posexplode(i), columns: [p, i], outer: true}]", lambda s, _: s.flat_map("posexplode(i)", "p", "i", outer=True)),
    Case("[{from: s, sample: 0.5, seed: 7}]", lambda s, _: s.sample(0.5, seed=7)),
    Case("[{from: s, sample: 1}]", lambda s, _: s.sample(1)),
    Case("[{from: s, sort: [a, b DESC]}]", lambda s, _: s.sort("a", "b DESC")),
    Case("[{from: s, top_n: 3, order_by: a DESC}]", lambda s, _: s.top_n(3, "a DESC")),
    Case("[{from: s, limit: 3}]", lambda s, _: s.limit(3)),
    Case("[{from: s, cache: DISK_ONLY}]", lambda s, _: s.cache("DISK_ONLY")),
    Case("[{from: s, expect: c, condition: v > 0, on_violation: fail}]", lambda s, _: s.expect("c", "v > 0", on_violation="fail")),
    Case("[{from: s, expect: c, condition: v > 0, to: bad}]", lambda s, _: s.expect("c", "v > 0", to="bad")),
    Case("[{from: s, expect: c, condition: v > 0, on_violation: fail, max_share: 0.05}]", lambda s, _: s.expect("c", "v > 0", on_violation="fail", max_share=0.05)),
    Case("[{from: s, expect: c, condition: v > 0, max_share: {param: late}}]", lambda s, _: s.expect("c", "v > 0", max_share=param("late"))),
    Case("[{from: s, expect_unique: c, columns: [a, b], on_violation: drop}]", lambda s, _: s.expect_unique("c", "a", "b", on_violation="drop")),
    Case("[{from: s, expect_unique: c, columns: a, to: twice}]", lambda s, _: s.expect_unique("c", "a", to="twice")),
    Case("[{from: s, expect_in: c, other: t, on: a, on_violation: fail, max_share: 0}]", lambda s, t: s.expect_in("c", t, "a", on_violation="fail", max_share=0)),
    Case("[{from: s, expect_in: c, other: {from: t, broadcast: true}, on: {a: b}, to: lost}]", lambda s, t: s.expect_in("c", t.broadcast(), {"a": "b"}, to="lost")),
    Case("[{from: s, expect_rows: c, at_least: 5, at_most: {param: late}}]", lambda s, _: s.expect_rows("c", at_least=5, at_most=param("late"))),
    Case("[{from: s, expect_rows: c, at_most: 0, on_violation: fail}]", lambda s, _: s.expect_rows("c", at_most=0, on_violation="fail")),
    Case("[{from: s, expect_same: c, other: t}]", lambda s, t: s.expect_same("c", t)),
    Case("[{from: s, expect_same: c, other: t, total: sum(a), other_total: sum(b), on_violation: fail}]", lambda s, t: s.expect_same("c", t, "sum(a)", other_total="sum(b)", on_violation="fail")),
    Case("[{from: s, expect_fresh: c, column: day, within: 2 days}]", lambda s, _: s.expect_fresh("c", "day", "2 days")),
    Case("[{from: s, key_by: [a, b], aggregate: {n: count(*)}}]", lambda s, _: s.key_by("a", "b").aggregate(n="count(*)")),
    Case("[{from: s, aggregate: {n: count(*)}}]", lambda s, _: s.aggregate(n="count(*)")),
    Case("[{from: s, key_by: a, reduce: {n: max}}]", lambda s, _: s.key_by("a").reduce(n="max")),
    Case("[{from: s, key_by: [a, b], rollup: true, aggregate: {n: count(*)}}]", lambda s, _: s.key_by("a", "b").rollup().aggregate(n="count(*)")),
    Case("[{from: s, key_by: [a, b], cube: true, aggregate: {n: count(*)}}]", lambda s, _: s.key_by("a", "b").cube().aggregate(n="count(*)")),
    Case("[{from: s, key_by: [a, b], grouping_sets: [[a, b], a, []], aggregate: {n: count(*)}}]", lambda s, _: s.key_by("a", "b").grouping_sets(("a", "b"), "a", ()).aggregate(n="count(*)")),
    Case("[{from: s, key_by: a, window: {tumbling: at, size: 1 hour}, aggregate: {n: count(*)}}]", lambda s, _: s.key_by("a").window(HOUR).aggregate(n="count(*)")),
    Case("[{from: s, window_all: {tumbling: at, size: 1 week, offset: 4 days}, aggregate: {n: count(*)}}]", lambda s, _: s.window_all(TumblingEventTimeWindows("at", "1 week", "4 days")).aggregate(n="count(*)")),
    Case("[{from: s, window_all: {sliding: at, size: 4 weeks, slide: 1 week, offset: -3 days}, aggregate: {n: count(*)}}]", lambda s, _: s.window_all(SlidingEventTimeWindows("at", "4 weeks", "1 week", "-3 days")).aggregate(n="count(*)")),
    Case("[{from: s, key_by: a, window: {tumbling: at, size: 1 hour}, side_output_late_data: late, aggregate: {n: count(*)}}, {get_side_output: late}, {filter: x}]", lambda s, _: s.key_by("a").window(HOUR).side_output_late_data("late").aggregate(n="count(*)").get_side_output("late").filter("x")),
    Case("[{from: s, window_all: {sliding: at, size: 1 hour, slide: 1 minute}, aggregate: {n: count(*)}}]", lambda s, _: s.window_all(SlidingEventTimeWindows("at", "1 hour", "1 minute")).aggregate(n="count(*)")),
    Case("[{from: s, key_by: a, as: k}, {window: {session: at, gap: 1 hour}, as: w}, {from: w, aggregate: {n: count(*)}}, {from: w, aggregate: {m: max(v)}}]", lambda s, _: [w.aggregate(n="count(*)") and w.aggregate(m="max(v)") for w in [s.key_by("a").window(EventTimeSessionWindows("at", "1 hour"))]]),
    Case("[{from: s, deduplicate: a, order_by: [b DESC]}]", lambda s, _: s.deduplicate("a", order_by="b DESC")),
    Case("[{from: s, deduplicate: []}]", lambda s, _: s.deduplicate()),
    Case(f"[{{from: s, key_by: a, apply_in_pandas: '{MODULE}:one', schema: a INT}}]", lambda s, _: s.key_by("a").apply_in_pandas(functions.one, "a INT")),
    Case(f"[{{from: s, transform: '{MODULE}:one', deterministic_function: false, expensive: true}}]", lambda s, _: s.transform(functions.one, deterministic=False, expensive=True)),
    Case(f"[{{from: s, key_by: a, transform: '{MODULE}:one', deterministic: true}}]", lambda s, _: s.key_by("a").transform(functions.one).deterministic()),
    Case(f"[{{from: s, connect: [t, {{from: t, broadcast: true}}], transform: '{MODULE}:three'}}]", lambda s, t: s.connect(t, t.broadcast()).transform(functions.three)),
    Case(f"[{{from: s, map_partitions: '{MODULE}:one', schema: a INT, batches: arrow}}]", lambda s, _: s.map_partitions(functions.one, "a INT", batches="arrow")),
    Case(f"[{{from: s, process: '{MODULE}:one', outputs: [a, b]}}]", lambda s, _: s.process(functions.one, outputs=("a", "b"))),
    Case(f"[{{from: s, key_by: a, process: '{MODULE}:Visits', schema: a INT, arguments: {{minutes: 3}}}}]", lambda s, _: s.key_by("a").process(functions.Visits, "a INT", minutes=3)),
    Case(f"[{{from: s, key_by: a, process: '{MODULE}:one', outputs: [a, b]}}]", lambda s, _: s.key_by("a").process(functions.one, outputs=("a", "b"))),
    Case(f"[{{from: s, iterate: '{MODULE}:two', others: [t], max_iterations: 3, until: max(c) < 1}}]", lambda s, t: s.iterate(functions.two, t, max_iterations=3, until="max(c) < 1")),
    Case("[{from: s, sql: 'SELECT * FROM {input}'}]", lambda s, _: s.sql("SELECT * FROM {input}")),
    Case("[{sql: 'SELECT * FROM {a} JOIN {b}', streams: {a: s, b: {from: t, broadcast: true}}}]", lambda s, t: s.environment.sql("SELECT * FROM {a} JOIN {b}", a=s, b=t.broadcast())),
    Case("[{from: s, sql: {file: query.sql}}]", lambda s, _: s.sql("SELECT 1 FROM {input}\n")),
    Case("[{from: s, join: t, on: a}]", lambda s, t: s.join(t, on="a")),
    Case("[{from: s, join: t, on: {a: b}, how: left, condition: left.v > right.v}]", lambda s, t: s.join(t, on={"a": "b"}, how="left", condition="left.v > right.v")),
    Case("[{from: s, join: t, how: cross}]", lambda s, t: s.join(t, how="cross")),
    Case("[{from: s, interval_join: t, on: a, times: [x, y], lower: 0 minutes, upper: 1 hour}]", lambda s, t: s.interval_join(t, "a", times=("x", "y"), lower="0 minutes", upper="1 hour")),
    Case("[{from: s, union: [t, s]}, {filter: x}]", lambda s, t: s.union(t, s).filter("x")),
    Case("[{from: s, union_by_name: [t], allow_missing_columns: true}]", lambda s, t: s.union_by_name(t, allow_missing_columns=True)),
    Case("[{from: s, intersect: t}]", lambda s, t: s.intersect(t)),
    Case("[{from: s, except: t, all: true}]", lambda s, t: s.except_(t, all=True)),
    *(Case(f"[{{from: s, {name}: true}}, {{filter: x}}]", lambda s, _, name=name: getattr(s, name)().filter("x")) for name in ("rebalance", "shuffle", "rescale", "forward", "broadcast")),  # type: ignore[misc]
    Case("[{from: {from: s, global: true}, filter: x}]", lambda s, _: s.global_().filter("x")),
    Case("[{from: s, partition_custom: v % 3}, {filter: x}]", lambda s, _: s.partition_custom("v % 3").filter("x")),
    Case(f"[{{from: s, partition_custom: '{MODULE}:two', keys: [a]}}, {{filter: x}}]", lambda s, _: s.partition_custom(functions.two, "a").filter("x")),
    Case("[{from: s, stage: dear}, {filter: x}]", lambda s, _: s.stage("dear").filter("x")),
    Case("[{from: s, stage: slow, same_task: true}, {filter: x}]", lambda s, _: s.stage("slow", same_task=True).filter("x")),
    Case("[{from: s, pipelined: small}, {filter: x}]", lambda s, _: s.pipelined("small").filter("x")),
    Case("[{from: s, filter: x, name: n, uid: u, task_id: t, parallelism: 2, max_parallelism: 4, disable_chaining: true}]", lambda s, _: s.filter("x").name("n").uid("u").task_id("t").set_parallelism(2).set_max_parallelism(4).disable_chaining()),
    Case("[{from: s, filter: x, description: keeps what is x}]", lambda s, _: s.filter("x").set_description("keeps what is x")),
    Case("[{from: s, filter: x, uid_hash: 0123456789ABCDEF0123456789abcdef}]", lambda s, _: s.filter("x").uid_hash("0123456789abcdef0123456789abcdef")),
    Case("[{from: s, filter: x, expensive: true, deterministic: true, start_new_chain: true}]", lambda s, _: s.filter("x").expensive().deterministic().start_new_chain()),
    Case("[{from: s, filter: x, slot_sharing_group: big}]", lambda s, _: s.filter("x").slot_sharing_group("big")),
    Case("[{from: s, filter: x, slot_sharing_group: {name: big, driver_memory: 1g, conf: {spark.x: true}}}]", lambda s, _: s.filter("x").slot_sharing_group(SlotSharingGroup("big", driver_memory="1g", conf={"spark.x": True}))),
    Case("[{from: s, filter: x, slot_sharing_group: {name: big, conn_id: c, target: yarn, deploy_mode: cluster}}]", lambda s, _: s.filter("x").slot_sharing_group(SlotSharingGroup("big", conn_id="c", target="yarn", deploy_mode="cluster"))),
    Case("[{from: s, filter: x, resources: {cpu_cores: 1, memory: 1g, extended_resources: {gpu: 1}}, preferred_resources: {cpu_cores: 2, memory: 2g}}]", lambda s, _: s.filter("x").set_resources(ResourceSpec(cpu_cores=1, memory="1g", extended_resources={"gpu": 1}), ResourceSpec(cpu_cores=2, memory="2g"))),
    Case("[{from: s, sink_to: {parquet: /o}, mode: merge, keys: a, name: x}, {from: s, filter: y}]", lambda s, _: (s.sink_to(Parquet("/o"), mode="merge", keys="a").name("x"), s.filter("y"))),
    Case('[{from: s, sink_to: {csv: /o}, mode: overwrite-partitions, partition_by: [a], partitions: {a: "{{ ds }}"}}]', lambda s, _: s.sink_to(Csv("/o"), mode="overwrite-partitions", partition_by="a", partitions={"a": "{{ ds }}"})),
    Case("[{from: s, sink_to: {csv: /o}, mode: overwrite-partitions, partition_by: [a, b], partitions: {a: null, b: 1}}]", lambda s, _: s.sink_to(Csv("/o"), mode="overwrite-partitions", partition_by=("a", "b"), partitions={"a": None, "b": 1})),
    Case("[{from: s, sink_to: {delta: /o}, mode: merge, keys: a, merge: {sequence_by: at, apply_as_deletes: gone, scd_type: 2, track_history_columns: [b]}}]", lambda s, _: s.sink_to(Delta("/o"), mode="merge", keys="a", merge=Merge(sequence_by="at", apply_as_deletes="gone", scd_type=2, track_history_columns=("b",)))),
    Case("[{from: s, sink_to: {iceberg: l.d.t}, mode: merge, keys: a, merge: {insert_only: true}}]", lambda s, _: s.sink_to(Iceberg("l.d.t"), mode="merge", keys="a", merge=Merge(insert_only=True))),
    Case("[{from: s, sink_to: {csv: /o.csv}, single_file: true}]", lambda s, _: s.sink_to(Csv("/o.csv"), single_file=True)),
    Case("[{from: s, sink_to: {csv: /o.csv}, single_file: false}]", lambda s, _: s.sink_to(Csv("/o.csv"), single_file=False)),
    Case("[{from: s, sink_to: {csv: /o}, mode: append, partition_by: [a], files: 3}]", lambda s, _: s.sink_to(Csv("/o"), mode="append", partition_by="a", files=3)),
    Case(f"[{{from: s, sink_to: {{function_sink: '{MODULE}:two'}}, mode: append}}]", lambda s, _: s.sink_to(FunctionSink(functions.two), mode="append")),
    Case("[{from_source: {csv: /o}, name: u, uid: w}, {filter: y}]", lambda s, _: s.environment.from_source(Csv("/o"), "u").uid("w").filter("y")),
)  # fmt: skip

SOURCES: tuple[tuple[str, Connector], ...] = (
    ("{csv: /i, header: false, null_value: NA, schema: a INT, on_schema_change: ignore, on_misfit: 'null', options: {sep: ;, multiLine: true, quote: {secret: c, field: k}}}", Csv("/i", header=False, null_value="NA", schema="a INT", on_schema_change="ignore", on_misfit="null", options={"sep": ";", "multiLine": True, "quote": Secret("c", "k")})),
    ("{json: /i, on_misfit: null}", Json("/i", on_misfit="null")),
    ("{json: /i, rejects: bad}", Json("/i", rejects="bad")),
    ("{json: /i, schema: a INT, if_missing: empty}", Json("/i", schema="a INT", if_missing="empty")),
    ("{json: /i}", Json("/i")),
    ("{json: [/i, /j]}", Json(["/i", "/j"])),
    ("{json: [/i]}", Json("/i")),
    ("{orc: /i}", Orc("/i")),
    ("{parquet: /i}", Parquet("/i")),
    ("{text: /i}", Text("/i")),
    ("{files: /i, format: avro}", Files("/i", format="avro")),
    ("{iceberg: lake.db.t, catalog: {type: jdbc, jdbc.password: {secret: c}}, version: main, schema: id INT, on_schema_change: fail}", Iceberg("lake.db.t", catalog={"type": "jdbc", "jdbc.password": Secret("c")}, version="main", schema="id INT", on_schema_change="fail")),
    ("{iceberg: lake.db.t, timestamp: '2013-01-01', partitioned_by: [day], create_if_missing: true}", Iceberg("lake.db.t", timestamp="2013-01-01", partitioned_by=("day",), create_if_missing=True)),
    ("{kafka: orders, bootstrap_servers: 'broker:9092', options: {maxOffsetsPerTrigger: 5}}", Kafka("orders", bootstrap_servers="broker:9092", options={"maxOffsetsPerTrigger": 5})),
    ("{kafka: [orders, returns], bootstrap_servers: 'broker:9092'}", Kafka(("orders", "returns"), bootstrap_servers="broker:9092")),
    ("{delta: /lake/t, version: 3, schema: id INT, on_schema_change: evolve}", Delta("/lake/t", version=3, schema="id INT", on_schema_change="evolve")),
    ("{delta: /lake/t, since: 2, changes: true}", Delta("/lake/t", since=2, changes=True)),
    ("{delta: /lake/t, timestamp: '2013-01-01', partitioned_by: [day]}", Delta("/lake/t", timestamp="2013-01-01", partitioned_by=("day",))),
    ("{jdbc: 'jdbc:x', table: t, user: {secret: c, field: login}, password: {secret: c}, partition_column: d, lower_bound: 2013-01-01, upper_bound: 2013-02-01, num_partitions: 4}", Jdbc("jdbc:x", table="t", user=Secret("c", "login"), password=Secret("c"), partition_column="d", lower_bound="2013-01-01", upper_bound="2013-02-01", num_partitions=4)),
    ("{jdbc: {secret: c, field: url}, query: SELECT 1, driver: d, fetch_size: 5, accept_changes_between_reads: true, lower_bound: 1}", Jdbc(Secret("c", "url"), query="SELECT 1", driver="d", fetch_size=5, accept_changes_between_reads=True, lower_bound=1)),
    ("{table: a.b, run_column: r, attempt_column: t}", Table("a.b", run_column="r", attempt_column="t")),
    ("{values: [[a, 1, 0.5, true, null], [b, 2, 1, no, ~]], schema: k STRING}", Values([("a", 1, 0.5, True, None), ("b", 2, 1, "no", None)], "k STRING")),
    ("{range: 0, end: 9, step: 3}", Range(0, 9, 3)),
    ("{rate: 5, start: '2024-01-01', advance: 1 minute}", Rate(5, start="2024-01-01", advance="1 minute")),
    (f"{{function_source: '{MODULE}:one'}}", FunctionSource(functions.one)),
    (f"{{function_sink: '{MODULE}:two', schema: a INT}}", FunctionSink(functions.two, schema="a INT")),
)  # fmt: skip


def python(case: Case) -> tuple[Transformation, ...]:
    env = StreamExecutionEnvironment("p")
    streams = [env.from_source(Parquet(path), name) for name, path in (("s", "/in"), ("t", "/other"))]
    case.declare(*streams)
    return without_lines(env.pipeline()).transformations


def in_yaml(case: Case, folder: Path) -> tuple[Transformation, ...]:
    (folder / "query.sql").write_text("SELECT 1 FROM {input}\n")
    pipeline = parse_pipeline(f"{HEAD}steps: {case.steps}", f"{folder}/p.yaml")
    return without_lines(pipeline).transformations


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.steps[:70])
def test_a_step_equals_its_python_call(case: Case, tmp_path: Path) -> None:
    assert in_yaml(case, tmp_path) == python(case)


@pytest.mark.parametrize(("text", "connector"), SOURCES, ids=lambda v: str(v)[:40])
def test_a_source_equals_its_python_connector(text: str, connector: Connector) -> None:
    pipeline = parse_pipeline(f"name: p\nsources: {{s: {text}}}\nsteps: [{{from: s, limit: 1}}]", "p.yaml")
    source = pipeline.operators[0].operator
    assert getattr(source, "connector", None) == connector


@pytest.mark.parametrize(("text", "only_new", "lag"), [
    ("{csv: /i, schema: a INT, only_new: true, uid: u}", True, None),
    ("{csv: /i, only_new: false}", False, None),
    ("{jdbc: 'jdbc:x', table: t, only_new: at, lag: 10 minutes, uid: u}", "at", "10 minutes"),
])  # fmt: skip
def test_a_source_that_reads_only_what_is_new_equals_that_of_python(
    text: str, only_new: bool | str, lag: str | None
) -> None:
    in_sources = parse_pipeline(f"name: p\nsources: {{s: {text}}}\nsteps: [{{from: s, limit: 1}}]", "p.yaml")
    connector, _, rest = text.strip("{}").partition(", only_new")
    step = f"{{from_source: {{{connector}}}, name: s, only_new{rest}}}"
    in_steps = parse_pipeline(f"name: p\nsteps: [{step}, {{limit: 1}}]", "p.yaml")
    for pipeline in (in_sources, in_steps, parse_pipeline(export_pipeline(in_sources), "p.yaml")):
        source = pipeline.operators[0].operator
        assert isinstance(source, Source)
        assert (source.only_new, source.lag) == (only_new, lag)
        assert type(source.only_new) is type(only_new)


def test_options_equal_those_of_python() -> None:
    config = {"parallelism.default": 2, "pipeline.operator-chaining.enabled": False}
    env = StreamExecutionEnvironment("p", config=config, params={"a": 1, "b": 0.5, "c": True})
    env.from_source(Csv("/in"), "s").limit(1)
    text = "name: p\nconfig: {parallelism.default: 2, pipeline.operator-chaining.enabled: false}\n"
    text += "params: {a: 1, b: 0.5, c: true}\nsources: {s: {csv: /in}}\nsteps: [{from: s, limit: 1}]"
    assert without_lines(parse_pipeline(text, "p.yaml")) == without_lines(env.pipeline())


def test_every_operator_partitioner_connector_and_window_is_in_the_tables() -> None:
    transformations = [one for case in CASES for one in python(case)]
    operators = [one.operator for one in transformations if hasattr(one, "operator")]
    routes = [one.partitioner for one in transformations if isinstance(one, PartitionTransformation)]
    windows = [operator.window for operator in operators if hasattr(operator, "window")]
    connectors = [connector for _, connector in SOURCES]
    used = {type(value).__name__ for value in (*operators, *routes, *windows, *connectors)}
    bases: tuple[type, ...] = (Operator, Partitioner, Window, Connector)
    kinds: set[type] = set().union(*map(leaves, bases))
    own = {kind for kind in kinds if kind.__module__.startswith("graph_compiler.")}  # no test's
    wanted = {kind.__name__ for kind in own if not leaves(kind)}
    missing = wanted - MADE_BY_THE_COMPILER - used
    assert not missing, "add a row to CASES, or to SOURCES for a connector"


def test_every_call_and_setting_is_in_the_table() -> None:
    used = {key for case in CASES for step in yaml.safe_load(case.steps) for key in keys(step)}
    kinds = (DataStream, KeyedStream, WindowedStream, ConnectedStreams)
    public = {name for kind in kinds for name in dir(kind) if callable(getattr(kind, name))}
    wanted = {name.removeprefix("set_").rstrip("_") for name in public if not name.startswith("_")}
    in_recipes = {"apply"}  # it takes operators of packages: tests/recipes/test_packages.py
    missing = wanted - {"refuse"} - in_recipes - used
    assert not missing, "add a row to CASES"


def keys(step: object) -> set[str]:
    if isinstance(step, dict):
        return {str(key) for key in step} | {key for value in step.values() for key in keys(value)}
    return set()


def test_a_connectors_every_field_is_a_key() -> None:
    written = {key for text, _ in SOURCES for key in keys(yaml.safe_load(text))}
    named = {type(connector) for _, connector in SOURCES}
    first = {"path", "url", "name", "rows", "rows_per_batch", "start", "function", "topic"}
    assert {f.name for kind in named for f in fields(kind)} - first <= written


def test_subclasses_from_other_packages_leave_a_kind_unchanged() -> None:
    class OurCsv(Csv):
        """A user's own class."""

    assert Csv in kinds_below(Connector)
    assert OurCsv not in kinds_below(Connector)
