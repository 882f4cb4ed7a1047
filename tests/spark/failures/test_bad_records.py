"""What is said of a value in a file that does not fit its column's type."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler import Csv, DataStream, Files, Json, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.operators import RuntimeSettings, Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.errors import SourceLocation
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.failures.bad_records import bad_record, read_failure, unread_file
from graph_compiler.spark_runtime.failures.causes import Cause
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]
APART = (
    'hint: rejects="bad" sets such records aside, in a side output; on_misfit="null" reads NULL for what does not fit'
)
SCHEMA = "id INT, day DATE, at TIMESTAMP"


def failure_of(
    connector: FileConnector,
    env: StreamExecutionEnvironment,
    run_pipeline: RunPipeline,
    tmp_path: Path,
    after: Callable[[DataStream], DataStream] = lambda rows: rows.filter("id > 0"),
) -> Failure:
    (tmp_path / "other.csv").write_text("id\n1\n")
    other = env.from_source(Csv(f"{tmp_path}/other.csv", schema="id INT"), "other")
    rows = env.from_source(connector, "orders")
    after(rows).join(other, on="id").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    return failure


@pytest.mark.parametrize(
    ("row", "first", "hint"),
    [
        ("NA,2020-01-01,2020-01-01", "'NA'", 'if it marks a missing value, declare null_value="NA"'),
        (
            "1,01/02/2020,2020-01-01",
            "'01/02/2020'",
            'if it is written in another way, declare options={"dateFormat": "dd/MM/yyyy"}',
        ),
        (
            "1,2020-01-01,noon",
            "'noon'",
            'if it is written in another way, declare options={"timestampFormat": "dd/MM/yyyy HH:mm"}',
        ),
        (
            "1 ,2020-01-01,2020-01-01",
            "'1 '",
            'to leave out blanks around values, declare options={"ignoreTrailingWhiteSpace": "true"}',
        ),
        ("99999999999,2020-01-01,2020-01-01", "'99999999999'", None),
    ],
)
def test_a_value_that_does_not_fit_is_reported_with_its_source(
    row: str, first: str, hint: str | None, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    file = tmp_path / "the orders.csv"
    file.write_text(f"id,day,at\n1,2020-01-01,2020-01-01\n{row}\n")
    failure = failure_of(Csv(str(file), schema=SCHEMA), env, run_pipeline, tmp_path)
    assert failure.operator == "orders"
    assert failure.declared_at is not None
    assert failure.declared_at.file == __file__
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"
    says, *others = failure.message.splitlines()
    assert says.startswith(f"the value {first} does not fit column '")
    assert others == [
        f"  record: '{row}'",
        f"  file: {file}",
        *([f"  hint: {hint}"] if hint else []),
        f"  {APART}",
        "  while writing 'out'",
    ]


def test_a_field_of_json_is_named(env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text('{"id": 1}\n{"id": "NA"}\n')
    source = Json(f"{tmp_path}/*.json", schema="id INT")
    failure = failure_of(source, env, run_pipeline, tmp_path)
    assert failure.operator == "orders"
    assert failure.message == (
        "the value 'NA' does not fit column 'id', INT\n"
        """  record: '{"id": "NA"}'\n"""
        f"  file: {tmp_path}/orders.json\n  {APART}\n  while writing 'out'"
    )


def test_a_format_by_its_name_gets_sparks_option(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "orders.csv").write_text("id\nNA\n")
    source = Files(format="csv", path=f"file://{tmp_path}/in", schema="id INT", options={"header": True})
    failure = failure_of(source, env, run_pipeline, tmp_path)
    assert failure.operator == "orders"
    assert 'declare options={"nullValue": "NA"}' in failure.message


def test_a_record_with_too_many_fields_is_shown(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "orders.csv").write_text("id,day\n1,2020-01-01\n2,2020-01-02,x\n")
    source = Csv(f"{tmp_path}/orders.csv", schema="id INT, day DATE")
    failure = failure_of(source, env, run_pipeline, tmp_path, after=lambda rows: rows)
    assert failure.operator == "orders"
    assert failure.message == (
        "a record does not fit the columns: it does not have as many fields as there are columns\n"
        f"  record: '2,2020-01-02,x'\n  file: {tmp_path}/orders.csv\n  {APART}\n  while writing 'out'"
    )


def test_a_damaged_file_is_reported_with_its_cause() -> None:
    cause = cause_of("FAILED_READ_FILE.NO_HINT", "IOException: can not read class PageHeader")
    assert read_failure(cause, None) == [
        "its file /in/the orders.parquet cannot be read",
        "because: can not read class PageHeader",
    ]


def test_two_sources_of_one_file_are_not_guessed_between(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "orders.csv").write_text("id\nNA\n")
    source = Csv(f"{tmp_path}/orders.csv", schema="id INT")
    rows = env.from_source(source, "orders").union(env.from_source(source, "again"))
    rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.operator is None
    assert failure.message == (
        "the value 'NA' does not fit column 'id', INT\n"
        "  record: 'NA'\n"
        f"  file: {tmp_path}/orders.csv\n"
        "  in the chain of orders → again → out; Spark does not say in which of them"
    )


def test_failures_that_are_not_of_a_file_have_no_record() -> None:
    malformed = "SparkException: [MALFORMED_RECORD_IN_PARSING.X] in record parsing: [null].\nParse"
    cause = cause_of("MALFORMED_RECORD_IN_PARSING.X", malformed)
    assert unread_file(cause) is None
    assert bad_record(cause) is None


def test_hints_are_written_as_in_the_file_that_declares_the_source() -> None:
    malformed = "SparkException: [MALFORMED_RECORD_IN_PARSING.X] in record parsing: [null].\nParse"
    cause = cause_of("FAILED_READ_FILE.NO_HINT", 'NumberFormatException: For input string: "NA"')
    cause = replace(cause, chain=(cause.chain[0], malformed, cause.chain[1]))
    source = OperatorDescriptor(
        node_id=1,
        operator_id=OperatorId("1"),
        name="orders",
        operator=Source(Csv("/in", schema="id INT")),
        settings=RuntimeSettings(),
        inputs=(),
        declared_at=SourceLocation("pipelines/sales.yaml", 3),
    )
    assert read_failure(cause, source)[3:] == [
        'hint: if it marks a missing value, declare null_value: "NA"',
        'hint: on_misfit: "null" reads every value that does not fit as NULL',
    ]


def cause_of(condition: str, deepest: str) -> Cause:
    return Cause(
        kind="SparkException",
        message="",
        condition=condition,
        sql_state="KD001",
        parameters={"path": "file:///in/the%20orders.parquet"},
        contexts=(),
        chain=(f"SparkException: [{condition}]", deepest),
        frames=(),
    )
