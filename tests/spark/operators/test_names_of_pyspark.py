"""Hints for names of PySpark and pandas: every name of PySpark has one, and the code in each is accepted by Spark."""

from pathlib import Path
from typing import Any

import pandas
import pytest
from pyspark.sql import DataFrame, GroupedData, SparkSession

import graph_compiler
from graph_compiler import DataStream, DataStreamSink, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.refusals.foreign_names import OF_SESSION, ForeignName, foreign_name, foreign_names
from graph_compiler.declaration.streams import KeyedStream
from graph_compiler.spark_runtime.dry_run import dry_run
from tests.spark.region.test_dry_run import tasks

pytestmark = pytest.mark.spark

TO_JOIN = "id INT, least BIGINT"
SCHEMA = "id INT, text STRING, amount BIGINT, country STRING, at TIMESTAMP"
FOUND = [
    *foreign_names().values(),
    *foreign_names(of_environment=True).values(),
    *(ForeignName("PySpark's", hint) for hint in OF_SESSION.values()),
]
COMMAND = "graph-compiler "
CODE = sorted({code for found in FOUND for code in found.code if not code.startswith((COMMAND, "@"))})


def function(first: DataFrame, *_others: DataFrame) -> DataFrame:
    return first


def names_of(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


@pytest.mark.parametrize("name", sorted({*names_of(DataFrame), *names_of(GroupedData)}))
def test_every_name_of_a_data_frame_is_ours_or_has_a_hint(name: str) -> None:
    ours = {call.replace("_", "").lower() for call in names_of(KeyedStream)}
    assert name.replace("_", "").lower() in ours or foreign_name(name) is not None


@pytest.mark.parametrize("name", names_of(SparkSession))
def test_every_name_of_a_session_is_ours_or_has_a_hint(name: str) -> None:
    assert hasattr(StreamExecutionEnvironment, name) or foreign_name(name, of_environment=True) is not None


@pytest.mark.ci
@pytest.mark.parametrize("code", CODE)
def test_the_code_of_a_hint_is_accepted(code: str, spark: SparkSession, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("sales")
    rows = env.from_source(Values([], SCHEMA), "rows")
    names: dict[str, Any] = {
        **{name: getattr(graph_compiler, name) for name in graph_compiler.__all__},
        "env": env,
        "rows": rows,
        "other": env.from_source(Values([], TO_JOIN if "join(" in code else SCHEMA), "other"),
        "function": function,
        "path": str(tmp_path / ("out.csv" if "single_file" in code else "out")),
        "file": "data/codes.csv",
        "url": "jdbc:postgresql://db/shop",
    }
    on_rows = code.partition("(")[0] in names_of(KeyedStream)
    made = eval(f"rows.{code}" if on_rows else code, names)
    if isinstance(made, DataStreamSink):
        compile_pipeline(env.pipeline())
        return
    if not isinstance(made, DataStream) or "from_source" in code:
        return
    made.sink_to(Parquet(str(tmp_path / "out")))
    answer = dry_run(tasks(env, tmp_path), spark)
    assert not answer.findings


def test_the_names_of_pandas_exist() -> None:
    of_modules = {"merge_asof", "concat", "asof_join", "append", "applymap"}
    known = {name for name, found in foreign_names().items() if found.whose == "pandas'"}
    of_modules |= {"get_dummies", "iteritems", "cumcount", "get_group", "last", "ngroup", "nth"}
    assert not known - of_modules - set(dir(pandas.DataFrame))


WITHOUT_HINT = {
    *("T", "attrs", "axes", "flags", "get", "items", "keys", "mode", "ndim", "pop", "style", "update", "xs"),
    *("asfreq", "at_time", "combine", "dot", "isetitem", "set_flags", "sparse"),
    *("from_arrow", "from_dict", "from_records"),
    *("radd", "rdiv", "rfloordiv", "rmod", "rmul", "rpow", "rsub", "rtruediv"),
}
"""Names of pandas that are also names of columns, of mappings, or that nobody calls on a stream."""


def test_the_other_names_of_pandas_have_a_hint() -> None:
    ours = {call.replace("_", "").lower() for call in names_of(KeyedStream)}
    names = {name for name in names_of(pandas.DataFrame) if name.replace("_", "").lower() not in ours}
    assert {name for name in names - WITHOUT_HINT if foreign_name(name) is None} == set()
