"""input_file_name() and `_metadata` are refused where Spark would name a staged file, or none."""

from collections.abc import Callable

import pytest

from graph_compiler import DataStream, InvalidPipelineError, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline

NAME, PATH = "input_file_name()", "_metadata.file_path"
Declare = Callable[[DataStream], DataStream]


def compile_with(declare: Declare, *, schema: str | None = "id INT, k INT", mode: str = "AUTO") -> None:
    env = StreamExecutionEnvironment("p", config={"execution.batch-shuffle-mode": mode})
    source = env.from_source(Parquet("/in", schema=schema), "in")
    declare(source).sink_to(Parquet("/out")).name("out")
    compile_pipeline(env.pipeline())


RIGHT: dict[str, Declare] = {
    "behind the source": lambda s: s.with_columns(file=NAME, path=PATH),
    "staged later": lambda s: s.with_columns(file=NAME, path=PATH).stage("x").filter("file LIKE '%a%'"),
    "behind single rows": lambda s: s.filter("id > 1").drop("k").cast(id="BIGINT").with_columns(file=NAME),
    "a union": lambda s: s.union(s.filter("k > 1")).with_columns(file=NAME),
    "a key": lambda s: s.key_by("k").aggregate(path=f"max({PATH})"),
    "a sort": lambda s: s.sort("k").with_columns(path=PATH),
    "two regions": lambda s: s.with_columns(file=NAME).join(s.stage("x").aggregate(n="count(*)"), on=[], how="cross"),
    "a text": lambda s: s.stage("x").filter("'_metadata' != 'input_file_name()'"),
    "a field": lambda s: s.stage("x").with_columns(s="named_struct('_metadata', 1)").with_columns(f="s._metadata"),
    "a column of that name": lambda s: s.with_columns(_metadata="k").stage("x").filter("_metadata > 1"),
}


@pytest.mark.parametrize("declare", RIGHT.values(), ids=RIGHT)
def test_a_file_is_named_where_spark_knows_it(declare: Declare) -> None:
    compile_with(declare)


WRONG: dict[str, tuple[Declare, str]] = {
    "staged": (lambda s: s.stage("x").with_columns(file=NAME), "the output of 'in' is staged, because you asked"),
    "staged in its task": (lambda s: s.stage("x", same_task=True).with_columns(file=NAME), "'in' is staged"),
    "path of staged": (lambda s: s.stage("x").with_columns(f=PATH), "its _metadata would name a file"),
    "quoted": (lambda s: s.stage("x").filter("`_metadata`.file_size > 1"), "its _metadata would name a file"),
    "in upper case": (lambda s: s.stage("x").filter("INPUT_FILE_BLOCK_START () > 1"), "its input_file_block_start()"),
    "expensive": (lambda s: s.filter("id > 1").name("f").expensive().with_columns(f=NAME), "'f' is expensive"),
    "behind more": (lambda s: s.stage("x").filter("id > 1").drop("k").with_columns(f=NAME), "'in' is staged"),
}


@pytest.mark.parametrize(("declare", "words"), WRONG.values(), ids=WRONG)
def test_a_file_is_not_named_where_spark_does_not_know_it(declare: Declare, words: str) -> None:
    with pytest.raises(InvalidPipelineError) as refused:
        compile_with(declare)
    assert words in str(refused.value)
    assert "right behind the source: source.with_columns(file=" in str(refused.value)


def test_files_may_have_a_column_of_that_name_if_no_schema_is_declared() -> None:
    compile_with(lambda s: s.stage("x").with_columns(f=PATH), schema=None)


def test_without_staged_rows_the_file_is_known() -> None:
    compile_with(lambda s: s.stage("x").with_columns(f=NAME), mode="ALL_EXCHANGES_PIPELINED")
