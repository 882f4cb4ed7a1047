"""Words of other tools in a file: the hint names our key, and what it does to rows that are there."""

import pytest

from graph_compiler.errors import InvalidPipelineError
from graph_compiler.projects.yaml.reader import parse_pipeline

FILE = """
name: sales
sources:
  orders: {{csv: /in/orders.csv, schema: "id INT, country STRING"{source}}}
steps:
- {{name: large, {step}}}
sinks:
  out: {{{sink}}}
"""
PLAIN = {"source": "", "step": "from: orders, filter: id > 1", "sink": "from: large, sink_to: {parquet: /out}"}
CASES = [
    ("source", ', delimiter: ";"', 'it is an option of Spark: options: {sep: ";"}'),
    ("source", ', dateFormat: "d.M.y"', 'it is an option of Spark: options: {dateFormat: "d.M.y"}'),
    ("source", ", columns: x", "did you mean 'schema'?"),
    ("step", "input: orders, filter: id > 1", "did you mean 'from'?"),
    ("step", "source: orders, filter: id > 1", "did you mean 'from'?"),
    ("step", "from: orders, where: id > 1", "where is PySpark's: here it is filter"),
    ("step", "from: orders, group_by: country, aggregate: {n: count(*)}", "did you mean 'key_by'?"),
    ("step", "from: orders, groupBy: country, aggregate: {n: count(*)}", "did you mean 'key_by'?"),
    ("step", "from: orders, order_by: id", "did you mean 'sort'?"),
    ("step", "from: orders, join: orders, using: id", "did you mean 'on'?"),
    ("step", "from: orders, join: orders, on: id, type: left", "did you mean 'how'?"),
    ("step", "id: large, from: orders, filter: id > 1", "did you mean 'name'?"),
    ("sink", "input: large, sink_to: {parquet: /out}", "did you mean 'from'?"),
    ("sink", "from: large, to: {parquet: /out}", "did you mean 'sink_to'?"),
    ("sink", "from: large, parquet: /out", "sink_to: {parquet: …}"),
    (
        "sink",
        "from: large, sink_to: {parquet: /out}, upsert: id",
        "mode: merge, with keys: it replaces the rows of equal keys",
    ),
    (
        "sink",
        "from: large, sink_to: {parquet: /out}, mode: upsert",
        "did you mean 'merge'? It needs keys, and replaces the rows of equal keys",
    ),
    ("sink", "from: large, sink_to: {parquet: /out}, mode: error", "did you mean 'error-if-exists'?"),
    (
        "sink",
        "from: large, sink_to: {parquet: /out}, mode: replace",
        "did you mean 'overwrite'? It removes all rows that the target has",
    ),
    ("sink", "from: large, sink_to: {parquet: /out}, mode: appendd", "did you mean 'append'?"),
]


@pytest.mark.parametrize(("where", "text", "hint"), CASES, ids=[case[1] for case in CASES])
def test_a_synonym_has_a_hint(where: str, text: str, hint: str) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        parse_pipeline(FILE.format(**{**PLAIN, where: text}), "sales.yaml")
    assert hint in [problem.hint for problem in refusal.value.problems]


def test_a_key_that_has_a_synonym_in_its_place_is_not_reported_as_missing() -> None:
    text = FILE.format(**{**PLAIN, "sink": "input: large, sink_to: {parquet: /out}"})
    with pytest.raises(InvalidPipelineError) as refusal:
        parse_pipeline(text, "sales.yaml")
    assert [problem.message for problem in refusal.value.problems] == ["unknown key 'input'"]
