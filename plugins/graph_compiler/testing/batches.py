"""Batches that a test gives for sources that never end: `{"orders": [[{…}, {…}], [{…}]]}`.

rows       {…}, (…)                       a stream of them runs as a batch job: as if it had ended
batches    [{…}, {…}], Rows(…), a DataFrame    each is one batch of Spark's query, one after the other
"""

from __future__ import annotations

from collections.abc import Mapping

from graph_compiler.declaration.operators import Source
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.rehearsal.local_session import Frame
from graph_compiler.testing.sources import REAL, Rows, SourcesError

MOST_BATCHES = 100
"""How many batches a test may give: Spark remembers what it has reported of so many."""


def sources_with_batches(
    graph: StreamGraph, matched: Mapping[str, StreamNode], given: Mapping[str, object]
) -> Mapping[str, list[object]]:
    """Return the batches of each source that is given some: all sources that never end, or none.

    Raises SourcesError if a source that ends is given batches, or if one that never ends has not as many as the others.
    """
    pipeline, found, others = f"pipeline '{graph.job_name}'", dict[str, list[object]](), dict[str, str]()
    for name, node in matched.items():
        rows, operator = given[name], node.operator
        assert isinstance(operator, Source), "it was found among the sources"
        batches = _batches(rows)
        if operator.is_bounded and batches and not _are_rows(batches, operator.connector.schema):
            raise SourcesError(
                f"{pipeline}: '{name}' was given batches, and it ends\n  allowed: rows in a list\n"
                "  hint: batches are for a source that never ends: from_source(…, unbounded=True)"
            )
        if operator.is_bounded:
            continue
        if batches:
            found[name] = batches
        elif isinstance(rows, list | tuple) and any(map(_is_batch, rows)):
            raise SourcesError(
                f"{pipeline}: '{name}' was given rows and batches\n"
                f'  allowed: batches, each a list of rows: {{"{name}": [[{{…}}], [{{…}}]]}}'
            )
        else:
            others[name] = "is read as in production" if rows is REAL else "was given rows"
    if found:
        _refuse_other_counts(pipeline, {name: len(batches) for name, batches in found.items()}, others)
    return found


def _refuse_other_counts(pipeline: str, counts: Mapping[str, int], others: Mapping[str, str]) -> None:
    first, count = next(iter(counts.items()))
    if others:
        name, what = next(iter(others.items()))
        raise SourcesError(
            f"{pipeline}: '{name}' {what}, and '{first}' was given batches\n"
            f'  allowed: batches for all sources that never end: {{"{name}": [[{{…}}], []]}}'
        )
    if (other := next((name for name in counts if counts[name] != count), None)) is not None:
        raise SourcesError(
            f"{pipeline}: '{first}' was given {counted(count, 'batch', 'batches')}, and '{other}' {counts[other]}\n"
            f"  allowed: as many for each; [] is one without rows"
        )
    if count > MOST_BATCHES:
        raise SourcesError(f"{pipeline}: '{first}' was given {count} batches\n  allowed: at most {MOST_BATCHES}")


def _batches(given: object) -> list[object]:
    """Return batches; nothing for rows, or if only some are batches."""
    return list(given) if isinstance(given, list | tuple) and all(map(_is_batch, given)) else []


def _is_batch(given: object) -> bool:
    if isinstance(given, Frame | Rows):
        return True
    return isinstance(given, list) and all(isinstance(row, Mapping | list | tuple) for row in given)


def _are_rows(batches: list[object], schema: str | None) -> bool:
    """Whether they are rows of a source after all: lists with a value for each column, all of which have parts."""
    width = None if schema is None else len(parse_schema(schema))
    return all(isinstance(each, list) and len(each) == width for each in batches)
