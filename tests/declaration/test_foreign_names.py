"""Names of PySpark, pandas and PyFlink on streams and environments: refused with our call when used, else unknown."""

import copy
import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graph_compiler import Csv, InvalidPipelineError, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.declaration.refusals.collected import Refused, Unused, collecting_refusals
from graph_compiler.declaration.refusals.foreign_names import OF_SESSION, ForeignName, foreign_name, foreign_names
from graph_compiler.declaration.streams import KeyedStream

ON_STREAMS = foreign_names()
ON_ENVIRONMENTS = foreign_names(of_environment=True)


def declared() -> tuple[Any, Any]:
    """Return an environment and a stream of it, whose attributes no type checker looks at."""
    env = StreamExecutionEnvironment("sales")
    return env, env.from_source(Csv("/in"), "orders")


def kinds() -> dict[str, Any]:
    """Return an object of each class that users call."""
    env, rows = declared()
    return {
        "stream": rows,
        "keyed": rows.key_by("country"),
        "windowed": rows.window_all(TumblingEventTimeWindows("at", "1 hour")),
        "connected": rows.connect(rows),
        "sink": rows.sink_to(Parquet("/out")),
        "environment": env,
    }


KINDS = list(kinds())


@pytest.mark.parametrize(("name", "call"), {
    "groupBy": "key_by", "groupby": "key_by", "group_by": "key_by", "orderBy": "sort", "where": "filter",
    "distinct": "deduplicate", "fillna": "with_columns", "agg": "aggregate", "pivot": "key_by", "crossJoin": "join",
    "mapInPandas": "map_partitions", "persist": "cache", "write": "sink_to", "explode": "flat_map",
    "coalesce": "global_", "repartition": "rebalance", "count": "aggregate", "unpivot": "sql",
    "withColumnRenamed": "rename", "dropDuplicates": "deduplicate", "drop_duplicates": "deduplicate",
    "exceptAll": "except_", "unionAll": "union", "selectExpr": "select", "withColumn": "with_columns",
    "merge": "join", "assign": "with_columns", "query": "filter", "astype": "cast", "sort_values": "sort",
    "head": "top_n", "iloc": "top_n", "map": "with_columns",
}.items())  # fmt: skip
def test_a_name_has_the_call_that_is_meant(name: str, call: str) -> None:
    found = foreign_name(name)
    assert found is not None
    assert found.code[0].startswith(f"{call}(")


FLINKS_STREAMS = """
    addSink assignTimestamps assignTimestampsAndWatermarks broadcast closeWith collectAsync connect countWindowAll
    executeAndCollect filter flatMap forward fullWindowPartition getExecutionConfig getExecutionEnvironment getId
    getMinResources getParallelism getPreferredResources getTransformation getType global_ iterate join coGroup
    keyBy map partitionCustom print printToErr process project rebalance rescale shuffle sinkTo timeWindowAll
    transform union windowAll writeAsCsv writeAsText writeToSocket writeUsingOutputFormat getName name uid
    setUidHash setParallelism setMaxParallelism setDescription setBufferTimeout disableChaining startNewChain
    slotSharingGroup forceNonParallel returns cache getSideOutput setResources getMaxParallelism executeInsert
    aggregate asQueryableState countWindow getKeySelector getKeyType intervalJoin max maxBy min minBy reduce sum
    timeWindow window apply allowedLateness evictor sideOutputLateData trigger mapPartition sortPartition
    mapWithState filterWithState flatMapWithState orderedWait unorderedWait fold split select where equalTo between
"""
"""What Flink's DataStream API and PyFlink's call on a stream, in Flink's order or older versions."""
FLINKS_ENVIRONMENTS = """
    addClasspaths addDefaultKryoSerializer addJars addPythonArchive addPythonFile addSource clearJobListeners
    configure createInput createLocalEnvironment createLocalEnvironmentWithWebUI createRemoteEnvironment
    createTemporaryView disableOperatorChaining enableChangelogStateBackend enableCheckpointing execute executeAsync
    executeSql fromCollection fromData fromElements fromParallelCollection fromPath fromSequence fromSource
    generateSequence generateStreamGraph getBufferTimeout getCachedFiles getCheckpointConfig getCheckpointInterval
    getCheckpointingMode getConfig getConfiguration getDefaultLocalParallelism getDefaultSavepointDirectory
    getExecutionEnvironment getExecutionPlan getJobListeners getMaxParallelism getNumberOfExecutionRetries
    getParallelism getRestartStrategy getStateBackend getStreamGraph getStreamTimeCharacteristic getTransformations
    invalidateClusterDataset isChainingEnabled isChainingEnabledForOperatorsWithDifferentMaxParallelism
    isChangelogStateBackendEnabled isForceCheckpointing isUnalignedCheckpointsEnabled readFile readFileStream
    readTextFile registerCachedFile registerJobListener registerSlotSharingGroup registerType
    registerTypeWithKryoSerializer setBufferTimeout setDefaultSavepointDirectory setMaxParallelism
    setNumberOfExecutionRetries setParallelism setPythonExecutable setPythonRequirements setRestartStrategy
    setRuntimeMode setStateBackend setStreamTimeCharacteristic socketTextStream sqlQuery
"""


def in_python(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


@pytest.mark.parametrize("spelling", [str, in_python], ids=["Java", "Python"])
def test_every_name_of_flinks_streams_and_environments_says_what_to_call(spelling: Callable[[str], str]) -> None:
    env, rows = declared()
    keyed = rows.key_by("country")
    for thing, names in ((keyed, FLINKS_STREAMS), (env, FLINKS_ENVIRONMENTS)):
        for name in map(spelling, names.split()):
            if hasattr(thing, name):
                continue
            with pytest.raises(AttributeError, match="\n  hint: "):
                getattr(thing, name)


@pytest.mark.parametrize("name", ["show", "toPandas", "collect", "to_pandas"])
def test_a_name_for_looking_at_rows_has_the_command(name: str) -> None:
    found = foreign_name(name)
    assert found is not None
    assert found.code == ("graph-compiler run NAME --until OPERATOR",)


def test_no_name_of_another_library_is_also_ours() -> None:
    assert [name for name in ON_STREAMS if hasattr(KeyedStream, name)] == []
    assert [name for name in ON_ENVIRONMENTS if hasattr(StreamExecutionEnvironment, name)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_unknown_where_nothing_is_loaded(kind: str) -> None:
    thing = kinds()[kind]
    names = {*ON_STREAMS, *ON_ENVIRONMENTS} - set(dir(thing))
    assert len(names) > len(ON_STREAMS)
    assert not [name for name in names if hasattr(thing, name)]


@given(name=st.sampled_from(sorted(ON_STREAMS)), kind=st.sampled_from(KINDS))
def test_a_name_is_noted_once_it_is_called(name: str, kind: str) -> None:
    thing = kinds()[kind]
    assume(name not in dir(thing))
    with collecting_refusals() as problems:
        found = getattr(thing, name)
        assert not problems, "hasattr and getattr note nothing"
        assert isinstance(found(1, odd=2), Refused)
    (problem,) = problems
    assert f"'{name}'" in problem.message
    assert problem.hint
    assert problem.declared_at is not None
    assert problem.declared_at.file == __file__


@pytest.mark.parametrize("use", [
    lambda write: write.mode("overwrite"), lambda write: write["a"], len, list, lambda write: write(),
])  # fmt: skip
def test_an_attribute_is_noted_once_it_is_used(use: Callable[[Any], object]) -> None:
    _, rows = declared()
    with collecting_refusals() as problems:
        write = rows.write
        assert not problems
        use(write)
    assert [problem.message for problem in problems] == ["a stream has no 'write': that is PySpark's"]


def test_an_attribute_is_noted_as_an_argument() -> None:
    env, rows = declared()
    with collecting_refusals() as problems:
        rows.select(rows.columns)
    assert ["'columns'" in problem.message for problem in problems] == [True]
    assert env.refused == problems


def test_an_attribute_that_is_used_after_its_module_was_loaded_is_refused() -> None:
    _, rows = declared()
    with collecting_refusals():
        group = rows.groupBy
    with pytest.raises(InvalidPipelineError, match="has no 'groupBy'"):
        group("country")


def test_every_line_of_a_chain_is_noted_also_in_its_environment() -> None:
    env, rows = declared()
    with collecting_refusals() as problems:
        (
            rows.withColumnRenamed("a", "b")
            .filter("b > 0")
            .groupBy("b")
            .count()
            .write.partitionBy("b")
            .mode("append")
            .parquet("/out")
        )
        env.read.option("header", True).csv("/in").orderBy("a")
    names = ["withColumnRenamed", "groupBy", "count", "write", "read", "orderBy"]
    assert [problem.message.split("'")[1] for problem in problems] == names
    lines = [problem.declared_at.line for problem in problems if problem.declared_at]
    assert [line - lines[0] for line in lines] == [0, 2, 3, 4, 8, 8]
    assert env.refused == problems


def test_names_after_a_refused_call_are_noted() -> None:
    _, rows = declared()
    with collecting_refusals() as problems:
        rows.filter(3).groupBy("a")
    assert len(problems) == 2


def test_names_of_writers_are_not_taken_for_names_of_streams() -> None:
    _, rows = declared()
    with collecting_refusals() as problems:
        rows.writeTo("t").replace()
        rows.write.mode("append").format("csv").save("/out")
    assert len(problems) == 2


@pytest.mark.parametrize(("kind", "name", "hint"), [
    ("stream", "keyBy", "did you mean 'key_by'?"),
    ("stream", "flatMap", "did you mean 'flat_map'?"),
    ("stream", "unionByName", "did you mean 'union_by_name'?"),
    ("stream", "window", 'call it after `key_by("country")`'),
    ("stream", "applyInPandas", 'call it after `key_by("country")`'),
    ("sink", "filter", "a sink has no output: call it on the stream, before sink_to(…)"),
    ("sink", "groupBy", "a sink has no output: call it on the stream, before sink_to(…); `key_by("),
    ("windowed", "filter", 'call `aggregate(n="count(*)")` first: it returns a stream'),
    ("windowed", "agg", "`aggregate("),
    ("windowed", "count", "`aggregate("),
    ("connected", "map", "call `transform(function)` first: it returns a stream; `with_columns("),
    ("environment", "addJars", "did you mean 'add_jars'?"),
    ("environment", "groupBy", "call it on a stream"),
    ("environment", "filter", "call it on a stream"),
    ("environment", "createDataFrame", "`env.from_source(Values("),
])  # fmt: skip
def test_a_call_in_the_wrong_place_has_a_hint_where_it_belongs(kind: str, name: str, hint: str) -> None:
    with collecting_refusals() as problems:
        getattr(kinds()[kind], name)()
    (problem,) = problems
    assert problem.hint is not None
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize("name", ["groupBy", "read", "keyBy"])
def test_the_error_of_an_unknown_name_has_the_hint(name: str) -> None:
    env, rows = declared()
    thing = env if name == "read" else rows
    with pytest.raises(AttributeError, match=f"has no '{name}'.*\n  hint: ") as raised:
        getattr(thing, name)
    assert raised.value.name == name
    assert raised.value.obj is None, "Python would add a suggestion by spelling"


@pytest.mark.parametrize("name", [
    "_repr_html_", "_ipython_display_", "_ipython_canary_method_should_not_exist_", "__array__", "__wrapped__",
    "__dataframe__", "__deepcopy__", "__len__", "__call__", "_groupBy", "__groupBy__", "shape_of_it", "x", "",
])  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_probes_of_tools_are_unknown_also_while_a_module_is_loaded(kind: str, name: str) -> None:
    with collecting_refusals() as problems:
        assert not hasattr(kinds()[kind], name)
        if name.startswith("_") and name not in ("__len__", "__call__"):
            assert not hasattr(Refused([]), name)
            assert not hasattr(Unused([]), name)
    assert not problems


@pytest.mark.parametrize("kind", KINDS)
def test_tools_treat_the_objects_as_before(kind: str) -> None:
    with collecting_refusals() as problems:
        thing = kinds()[kind]
        assert type(copy.copy(thing)) is type(thing)
        assert type(copy.deepcopy(thing)) is type(thing)
        assert type(pickle.loads(pickle.dumps(thing))) is type(thing)
        assert not any(isinstance(value, Refused) for _, value in inspect.getmembers(thing))
        assert not callable(thing)
        with pytest.raises(TypeError, match="not iterable"):
            iter(thing)
        with pytest.raises(TypeError):
            len(thing)
        assert thing
        assert inspect.unwrap(thing) is thing
        blank = object.__new__(type(thing))
        assert not hasattr(blank, "_first")
        assert not hasattr(blank, "__setstate__")
    assert not problems


def test_an_index_is_refused_with_its_line_and_the_rest_is_checked() -> None:
    _, rows = declared()
    with pytest.raises(TypeError, match="found \\['amount'\\]"):
        rows["amount"]
    with collecting_refusals() as problems:
        rows["twice"] = rows["amount"] * 2
        rows[(rows["amount"] > 10) & ~(rows["country"] == "at")].sort_values("amount")
        for name in rows.columns:
            rows.withColumn(name, name)
    assert [str(problem.message.split(": ")[-1]) for problem in problems] == [
        "found ['amount']", "found ['twice'] = …", "found ['amount']", "found ['country']", "found […]",
        "that is pandas'", "that is PySpark's",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "found",
    [*ON_STREAMS.values(), *ON_ENVIRONMENTS.values()],
    ids=[*ON_STREAMS, *(f"env.{name}" for name in ON_ENVIRONMENTS)],
)
def test_a_hint_says_what_to_do(found: ForeignName) -> None:
    assert found.code or found.hint.startswith("leave it out: ")
    assert found.hint.count("`") == 2 * len(found.code)


def test_a_variable_of_a_shell_has_a_hint() -> None:
    assert set(OF_SESSION) >= {"spark", "sc"}
