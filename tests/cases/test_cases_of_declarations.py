"""Declarations that `validate` refuses, before anything is read or written."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.projects.pipeline_files import load_pipeline
from tests.cases.case import published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]


def test_a_command_as_sql_is_refused_and_what_follows_the_hint_is_published(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    archive = tmp_path / "archive" / "2023.csv"
    archive.parent.mkdir()
    archive.write_text("7\n8\n9\n")
    (tmp_path / "in.csv").write_text("id\n1\n2\n")

    def selected(text: str) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment("no_query")
        rows = env.from_source(Csv(f"{tmp_path}/in.csv", schema="id INT"), "rows")
        query = env.sql(text, a=rows).name("command")
        query.sink_to(Parquet(f"{tmp_path}/out")).name("out")
        return env

    command = f"INSERT OVERWRITE DIRECTORY '{archive.parent}' USING csv SELECT * FROM {{a}}"
    with pytest.raises(InvalidPipelineError) as refused:
        compile_pipeline(selected(command).pipeline())
    message = str(refused.value)
    assert "command: its SQL is a command (INSERT OVERWRITE DIRECTORY), not a query" in message
    assert "allowed: SELECT …" in message
    assert "hint: to write rows, use sink_to" in message
    assert f"declared at {__file__}:" in message
    query = selected("SELECT * FROM {a}").pipeline()
    assert [report.failure for report in run_pipeline(query)] == [None]
    assert published(tmp_path / "out") == [{"id": 1}, {"id": 2}]
    assert archive.read_text() == "7\n8\n9\n"


NOON = datetime(2024, 3, 15, 12, 30, tzinfo=UTC)
BEFORE = """
rows.groupBy("id").agg(n="count(*)").sink_to(Parquet("OUT/grouped")).name("grouped")
rows.fillna({"id": 0}).sink_to(Parquet("OUT/filled")).name("filled")
rows.explode("id").sink_to(Parquet("OUT/exploded")).name("exploded")
"""
AFTER = """
rows.key_by("id").aggregate(n="count(*)").name("n").sink_to(Parquet("OUT/grouped")).name("grouped")
rows.with_columns(id="coalesce(id, 0)").name("f").sink_to(Parquet("OUT/filled")).name("filled")
rows.flat_map("explode(split(id, ' '))", "e").name("e").sink_to(Parquet("OUT/exploded")).name("exploded")
"""


def test_names_of_pyspark_are_refused_together_and_what_follows_the_hints_is_published(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    def declared(name: str, body: str) -> str:
        file = tmp_path / "pipelines" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(
            "from graph_compiler import Parquet, Range, StreamExecutionEnvironment\n"
            f'env = StreamExecutionEnvironment("{name}")\n'
            'rows = env.from_source(Range(0, 2), "rows")\n' + body.replace("OUT", str(tmp_path))
        )
        return str(file)

    with pytest.raises(InvalidPipelineError) as refused:
        load_pipeline(declared("names_before", BEFORE))
    message = str(refused.value)
    for name, hint, line in (
        ("groupBy", 'key_by("country").aggregate(n="count(*)", total="sum(amount)")', 5),
        ("agg", 'aggregate(n="count(*)", total="sum(amount)")', 5),
        ("fillna", "with_columns(country=\"coalesce(country, 'unknown')\")", 6),
        ("explode", 'flat_map("explode(split(text, \' \'))", "word")', 7),
    ):
        assert f"a stream has no '{name}': that is PySpark's" in message
        assert f"hint: `{hint}`" in message
        assert f"names_before.py:{line}" in message
    pipeline = load_pipeline(declared("names_after", AFTER))
    assert {report.failure for report in run_pipeline(pipeline)} == {None}
    assert published(tmp_path / "grouped") == [{"id": 0, "n": 1}, {"id": 1, "n": 1}]
    assert published(tmp_path / "filled") == [{"id": 0}, {"id": 1}]
    assert published(tmp_path / "exploded") == [{"id": 0, "e": "0"}, {"id": 1, "e": "1"}]


@pytest.mark.parametrize(
    ("kind", "patterns", "text", "value"),
    [
        ("DATE", ("dd-mm-yyyy", "dd-MM-yyyy"), "15-03-2024", date(2024, 3, 15)),
        ("DATE", ("yyyy-MM-DD", "yyyy-MM-dd"), "2024-01-15", date(2024, 1, 15)),
        ("DATE", ("YYYY-MM-dd", "yyyy-MM-dd"), "2024-12-30", date(2024, 12, 30)),
        ("TIMESTAMP", ("yyyy-MM-dd hh:mm", "yyyy-MM-dd HH:mm"), "2024-03-15 12:30", NOON),
        ("TIMESTAMP", ("yyyy-MM-dd HH:mm:SS", "yyyy-MM-dd HH:mm:ss"), "2024-03-15 12:30:00", NOON),
    ],
)
def test_a_pattern_with_a_letter_for_another_is_refused_and_the_proposed_one_reads_the_file(
    kind: str, patterns: tuple[str, str], text: str, value: object, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text(f"at\n{text}\n")
    pattern, meant = patterns

    def read_with(pattern: str) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment("patterns")
        options = {f"{kind.lower()}Format": pattern}
        rows = env.from_source(Csv(f"{tmp_path}/in.csv", schema=f"at {kind}", options=options), "rows")
        texts = rows.select("at", same=f"to_{kind.lower()}('{text}', '{pattern}')").name("texts")
        texts.sink_to(Parquet(f"{tmp_path}/out")).name("out")
        return env

    with pytest.raises(InvalidPipelineError) as refused:
        compile_pipeline(read_with(pattern).pipeline())
    message = str(refused.value)
    assert f"rows: option '{kind.lower()}Format': in the pattern '{pattern}', " in message
    assert f"texts: in the pattern '{pattern}', " in message
    assert message.count(f"hint: did you mean '{meant}'?") == 2
    assert [report.failure for report in run_pipeline(read_with(meant).pipeline())] == [None]
    assert published(tmp_path / "out") == [{"at": value, "same": value}]
