"""Connectors as values: their fields, where Jinja is allowed, and how reading is split."""

import pytest

from graph_compiler import (
    Csv,
    DataStream,
    Files,
    FunctionSink,
    FunctionSource,
    InvalidPipelineError,
    Jdbc,
    Json,
    Parquet,
    Range,
    Secret,
    StreamExecutionEnvironment,
    Text,
    Values,
)
from graph_compiler.declaration.connectors import FileConnector, RecordFiles, SinkMode
from graph_compiler.declaration.connectors.files import SchemaInFiles
from graph_compiler.declaration.connectors.jdbc import PredicateSplit
from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import FunctionNotImportableError

URL = "jdbc:postgresql://db/sales"


def make_rows(spark: object) -> object:
    return spark


def predicates(lower: object, upper: object, parts: int | None, parallelism: int = 1) -> list[str | None]:
    source = Jdbc(
        URL,
        table="t",
        partition_column="c",
        lower_bound=lower,  # type: ignore[arg-type]
        upper_bound=upper,  # type: ignore[arg-type]
        num_partitions=parts,
    )
    splits = source.create_input_splits(parallelism)
    assert [split.number for split in splits] == list(range(len(splits)))
    return [split.predicate for split in splits]


def test_numbers_are_cut_evenly_with_open_ends_and_nulls_in_the_first() -> None:
    assert predicates(0, 100, 4) == ["c < 25 OR c IS NULL", "c >= 25 AND c < 50", "c >= 50 AND c < 75", "c >= 75"]


def test_dates_and_timestamps_are_split_like_numbers() -> None:
    assert predicates("2013-01-01", "2013-01-03", 2) == ["c < DATE '2013-01-02' OR c IS NULL", "c >= DATE '2013-01-02'"]
    assert predicates("2013-01-01T00:00:00", "2013-01-01T00:00:01", 2) == [
        "c < TIMESTAMP '2013-01-01 00:00:00.500000' OR c IS NULL",
        "c >= TIMESTAMP '2013-01-01 00:00:00.500000'",
    ]


def test_bounds_may_be_text_and_negative() -> None:
    assert predicates("-10", "10", 2) == ["c < 0 OR c IS NULL", "c >= 0"]


@pytest.mark.parametrize("parts", range(1, 12))
@pytest.mark.parametrize("upper", [1, 2, 7, 1000])
def test_every_value_is_in_exactly_one_split(parts: int, upper: int) -> None:
    found = predicates(0, upper, parts)
    assert len(found) == min(parts, upper)
    for value in (-5, 0, 1, 6, upper - 1, upper, upper + 5):
        texts = [text if text is not None else "True" for text in found]
        matching = [
            text for text in texts if eval(text.replace(" OR c IS NULL", "").replace("AND", "and"), {"c": value})
        ]
        assert len(matching) == 1, (value, found)


def test_splits_default_to_one_or_one_per_subtask() -> None:
    assert Jdbc(URL, table="t").create_input_splits(8) == (
        PredicateSplit(number=0, description="all rows", predicate=None),
    )
    assert len(predicates(0, 100, None, parallelism=3)) == 3


def test_splits_of_templates_are_counted_before_a_run_renders_them() -> None:
    assert predicates("{{ params.low }}", "{{ params.high }}", 3) == [None, None, None]


def test_options_are_kept_as_text_and_compare_as_values() -> None:
    one = Parquet("/in", options={"mergeSchema": True, "maxRecordsPerFile": 10})
    assert one.options == (("mergeSchema", "true"), ("maxRecordsPerFile", "10"))
    assert hash(one) == hash(Parquet("/in", options=one.options))


def test_options_override_the_connectors_settings() -> None:
    assert Csv("/in", options={"header": False}).spark_options()["header"] == "false"


def test_jinja_is_allowed_in_paths_names_bounds_and_options_but_not_in_a_secret() -> None:
    source = Jdbc(
        "jdbc:postgresql://{{ params.host }}/sales",
        table="{{ params.table }}",
        user="etl",
        password=Secret("db"),
        partition_column="id",
        lower_bound="{{ params.low }}",
        upper_bound=10,
        num_partitions=2,
        options={"ApplicationName": "{{ run_id }}", "key": Secret("db", "key")},
        schema="id INT",
        on_schema_change="fail",
    )
    assert source.texts() == {
        "url": "jdbc:postgresql://{{ params.host }}/sales",
        "table": "{{ params.table }}",
        "user": "etl",
        "lower_bound": "{{ params.low }}",
        "options.ApplicationName": "{{ run_id }}",
    }
    filled = source.with_texts({"lower_bound": "7", "options.ApplicationName": "r"})
    assert filled.lower_bound == "7"
    assert filled.options == (("ApplicationName", "r"), ("key", Secret("db", "key")))
    assert filled.url == source.url
    assert source.secrets() == {"password": Secret("db"), "options.key": Secret("db", "key")}


def test_secrets_have_opaque_variable_names() -> None:
    names = {Secret("db").variable, Secret("db", "login").variable, Secret("db2").variable}
    assert len(names) == 3
    assert all(name.startswith("GRAPH_COMPILER_SECRET_") for name in names)
    assert Secret("db").variable == Secret("db", "password").variable


def test_values_ranges_and_functions_are_comparable() -> None:
    assert Values([["a", 1]], "k STRING, v INT") == Values((("a", 1),), "k STRING, v INT")
    assert Range(0, 9) == Range(0, 9, 1)
    assert FunctionSource(make_rows) == FunctionSource(FunctionSource(make_rows).function)
    with pytest.raises(FunctionNotImportableError, match="FunctionSource cannot take this function"):
        FunctionSource(lambda spark: spark)
    with pytest.raises(FunctionNotImportableError, match=r"FunctionSink cannot take this function: calls .* with 2"):
        FunctionSink(make_rows)


def test_a_sink_has_its_mode_folders_and_files(env: StreamExecutionEnvironment) -> None:
    sink = source(env).sink_to(Parquet("/out"), mode="append", partition_by="day", files=3)
    operator = env.transformation(sink.id).operator  # type: ignore[attr-defined]
    assert operator == Sink(Parquet("/out"), mode=SinkMode.APPEND, partition_by=("day",), files=3)


def test_an_unknown_mode_is_refused_with_the_known_ones(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        source(env).sink_to(Parquet("/out"), mode="apend")  # type: ignore[arg-type]
    assert "there is no sink mode 'apend'" in str(refusal.value)
    assert "allowed: append, overwrite, overwrite-partitions, error-if-exists and merge" in str(refusal.value)


def test_generic_files_name_their_format() -> None:
    assert Files("/in", format="avro").spark_format == "avro"
    assert Files("/in", format="avro").texts() == {"path": "/in"}


def source(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(Range(0, 9), "numbers")


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (Csv("/in"), {}),
        (Json("/in", schema="a INT"), {}),
        (Parquet("/in", schema="a INT"), {}),
        (Files("/in", format="CSV"), {}),
        (Files("/in", format="xml"), {"mode": "FAILFAST"}),
        (Files("/in", format="XML", on_misfit="null"), {"mode": "PERMISSIVE"}),
        (Files("/in", format="avro", schema="a INT"), {}),
    ],
)
def test_only_xml_is_checked_by_sparks_reader(source: FileConnector, options: dict[str, str]) -> None:
    assert source.read_options() == options


@pytest.mark.parametrize(
    ("source", "reads_null"),
    [
        (Csv("/in"), False),
        (Csv("/in", on_misfit="fail", on_schema_change="ignore"), False),
        (Csv("/in", on_misfit="null"), True),
        (Csv("/in", rejects="bad", on_schema_change="ignore"), False),
        # as descriptors of earlier versions say it
        (Csv("/in", on_schema_change="ignore"), True),
    ],
)
def test_misfits_are_null_if_that_is_said(source: RecordFiles, reads_null: bool) -> None:
    assert source.reads_misfits_as_null is reads_null


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Parquet("/in"), SchemaInFiles.TYPES),
        (Text("/in"), SchemaInFiles.NOTHING),
        (Files("/in", format="text"), SchemaInFiles.NOTHING),
        (Files("/in", format="avro"), SchemaInFiles.TYPES),
        (Files("/in", format="csv", options={"Header": True}), Csv("/in", header=True).schema_in_files),
        (Files("/in", format="csv"), Csv("/in", header=False).schema_in_files),
    ],
)
def test_generic_files_declare_their_columns_like_their_format(source: FileConnector, told: SchemaInFiles) -> None:
    assert source.schema_in_files is told
