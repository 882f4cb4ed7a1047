"""Numbers and booleans without quotes: where a value is text, it is what is written; elsewhere nothing is lost."""

import pytest

from graph_compiler.declaration.connectors import Csv, Values
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.typed_value import TypedValue
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.projects.yaml.reader import parse_pipeline

HEAD = "name: p\nsources: {s: {csv: /in}}\n"
LONG = "1" * 41


def source(text: str) -> Source:
    operator = (
        parse_pipeline(f"name: p\nsources: {{s: {text}}}\nsteps: [{{from: s, limit: 1}}]", "p.yaml")
        .operators[0]
        .operator
    )
    assert isinstance(operator, Source)
    return operator


def only_problem(text: str) -> Problem:
    with pytest.raises(InvalidPipelineError) as refused:
        parse_pipeline(text, "p.yaml")
    (problem,) = refused.value.problems
    return problem


@pytest.mark.parametrize(
    "written", ["-99.90", "00", "010", "0x1", "1e3", "+5", ".5", "True", "FALSE", LONG, "1", "1.5", "true"]
)
def test_options_are_what_is_written(written: str) -> None:
    connector = source(f"{{csv: /in, options: {{nullValue: {written}}}}}").connector
    assert isinstance(connector, Csv)
    assert connector.options == (("nullValue", written),)


@pytest.mark.parametrize("written", ["1.10", "007", "1e3", "True", "010"])
def test_the_configuration_is_what_is_written(written: str) -> None:
    pipeline = parse_pipeline(f"{HEAD}config: {{spark.label: {written}, airflow.conn-id: {written}}}", "p.yaml")
    assert dict(pipeline.config) == {"spark.label": written, "airflow.conn-id": written}


def test_settings_of_groups_and_values_of_partitions_are_what_is_written() -> None:
    pipeline = parse_pipeline(
        "name: p\n"
        "sources: {s: {csv: /in, slot_sharing_group: {name: big, conf: {spark.label: 1.10}}}}\n"
        "sinks: {o: {from: s, sink_to: {parquet: /o}, mode: overwrite-partitions, partition_by: [a, b, c],"
        " partitions: {a: 1.10, b: 007, c: null}}}",
        "p.yaml",
    )
    read, written = pipeline.operators
    assert getattr(read.settings.slot_sharing_group, "conf", None) == {"spark.label": "1.10"}
    assert isinstance(written.operator, Sink)
    assert written.operator.partitions == (("a", "1.10"), ("b", "007"), ("c", None))


def test_cells_keep_all_their_digits() -> None:
    connector = source(
        "{values: [[007, 1.10, 1e3, 12345678901234567.89, 7, 0.5, TRUE, 0x10, [1.10, 2, null]]], schema: a STRING}"
    ).connector
    assert isinstance(connector, Values)
    assert connector.rows == (("007", "1.10", "1e3", "12345678901234567.89", 7, 0.5, True, 16, ("1.10", 2, None)),)


def default(params: str) -> object:
    pipeline: Pipeline = parse_pipeline(f"{HEAD}params: {{x: {params}}}", "p.yaml")
    return pipeline.parameters[0].default


def test_defaults_of_decimals_keep_all_their_digits() -> None:
    assert default('{default: 12345678901234567.89, sql_type: "DECIMAL(20, 2)"}') == TypedValue(
        "DECIMAL(20,2)", "12345678901234567.89"
    )
    assert default('{default: [1.10, 007], sql_type: "ARRAY<DECIMAL(4, 2)>"}') == TypedValue(
        "ARRAY<DECIMAL(4,2)>", ("1.10", "7")
    )


def test_a_default_that_is_declared_a_number_may_be_written_as_any_number() -> None:
    assert default("{default: 0.50, type: number}") == 0.5
    assert default("{default: 0.50, sql_type: DOUBLE}") == TypedValue("DOUBLE", 0.5)
    assert default("{default: 0.5, minimum: 0.10}") == 0.5
    assert default("True") is True


@pytest.mark.parametrize(
    ("params", "hint"),
    [
        ("1.10", "write 1.1, or '1.10' in quotes as text"),
        ("00501", "write 501, or '00501' in quotes as text"),
        ("0x1F", "write 31, or '0x1F' in quotes as text"),
        ("[1.5, 1.10]", "write 1.1, or '1.10' in quotes as text"),
        ("{default: 1.10}", "write 1.1, or '1.10' in quotes as text"),
        ("{default: [1.10], type: array}", "write 1.1, or '1.10' in quotes as text"),
        ("{default: a, enum: [a, 007]}", "write 7, or '007' in quotes as text"),
        ("12345678901234567.89", "write it in quotes; a parameter with sql_type: DECIMAL(p, s) keeps all its digits"),
        (LONG, "write it in quotes; a parameter with sql_type: DECIMAL(p, s) keeps all its digits"),
    ],
)
def test_a_default_whose_text_would_be_different_in_a_template_is_refused(params: str, hint: str) -> None:
    assert only_problem(f"{HEAD}params: {{x: {params}}}").hint == hint


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        ("{from: s, limit: 010}", "write 10"),
        ("{from: s, limit: 1, parallelism: 02}", "write 2"),
        (f"{{from: s, limit: {LONG}}}", None),
        ("{from: s, limit: 1, name: 007}", "write it in quotes"),
        (
            "{from: s, transform: 'tests.yaml.yaml_functions:priced', arguments: {least: 1, strict: 007}}",
            "write 7, or '007' in quotes as text",
        ),
    ],
)
def test_numbers_with_zeros_before_them_or_too_many_digits_are_refused(step: str, hint: str | None) -> None:
    problem = only_problem(f"{HEAD}steps: [{step}]")
    assert problem.hint == hint
    assert "is 0" in problem.message or LONG in problem.message


def test_other_forms_of_numbers_stay_numbers_where_a_number_is_asked_for() -> None:
    pipeline = parse_pipeline(f"{HEAD}steps: [{{from: s, sample: 0.50, seed: 0x10}}]", "p.yaml")
    assert getattr(pipeline.operators[1].operator, "fraction", None) == 0.5
    assert getattr(pipeline.operators[1].operator, "seed", None) == 16
