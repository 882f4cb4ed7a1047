"""What several reports read is computed once, with only the columns that they read (decision 45).

    orders ─▶ join ─┬─▶ totals by country ─▶ sink      the join is staged in the same task,
                    ├─▶ totals by product ─▶ sink      with country, product, day and amount;
                    └─▶ totals by day     ─▶ sink      each report reads it back

It says no where computing again may be cheaper: a condition of one report could reach the files of the sources. And
where an expression may read a column without naming it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.declaration.operators import (
    Aggregate,
    AggregateAll,
    ApplyInPandas,
    Cast,
    ContractOperator,
    Deduplicate,
    Drop,
    Expect,
    ExpectFresh,
    ExpectRows,
    IntervalJoin,
    Join,
    KeyedProcess,
    Limit,
    MapPartitions,
    OnViolation,
    Operator,
    Rename,
    Select,
    SetOperator,
    Sink,
    Sort,
    TopN,
    WindowAggregate,
    WithColumns,
)
from graph_compiler.declaration.operators.contracts import Reader
from graph_compiler.declaration.sql_text import name_at, tokens_of
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import JobType, StreamEdge
from graph_compiler.identifiers import JobEdgeId
from graph_compiler.options.modes import ShuffleMode

LEAST_READERS = 3
"""With two, writing and reading cost what computing once more costs."""
_TOTALS = (Aggregate, AggregateAll, WindowAggregate)
"""Readers of all rows."""
_KEEPS_ROWS = (*_TOTALS, Select, WithColumns, Drop, Rename, Cast, Sort, TopN, Limit, Sink)
_COUNTS = (Expect, ExpectFresh, ExpectRows)
_MOVES_ROWS = (*_TOTALS, Deduplicate, IntervalJoin, SetOperator)
_CALLS_PYTHON = (ApplyInPandas, KeyedProcess, MapPartitions)
_READS_UNNAMED = frozenset(
    {
        *("IDENTIFIER", "_METADATA", "SELECT", "VALUES", "TABLE", "|>", "$", "?", "@"),
        *("INPUT_FILE_NAME", "INPUT_FILE_BLOCK_START", "INPUT_FILE_BLOCK_LENGTH"),
    }
)
"""Words and symbols of expressions that may read what they do not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedReads:
    """How many reports read a result, and all words in them: the columns that they read are among these."""

    readers: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadersHere:
    """What reads an operator's outputs in its own region; a reader that gets staged rows has no operator."""

    compiled: CompiledPipeline

    def __call__(self, node_id: int) -> Sequence[Reader]:
        """Return the readers of all outputs of an operator."""
        graph = self.compiled.stream_graph
        found = []
        for edge in graph.out_edges[node_id]:
            reader = graph.node[edge.target_id]
            places = [other.type_number for other in graph.in_edges[reader.id]]
            operator = None if self._is_staged(edge) else reader.operator
            is_union = places.count(edge.type_number) > 1
            found.append(Reader(reader.id, reader.declared_name, operator, edge.type_number, is_union))
        return found

    def inputs(self, node_id: int) -> Iterator[StreamEdge]:
        """Yield the edges by which an operator reads rows that are computed in its region."""
        return (edge for edge in self.compiled.stream_graph.in_edges[node_id] if not self._is_staged(edge))

    def _is_staged(self, edge: StreamEdge) -> bool:
        found = self.compiled.job_graph.edge.get(JobEdgeId(edge.id))
        return found is not None and found.staging is not None


def computed_once(compiled: CompiledPipeline) -> Mapping[int, SharedReads]:
    """Return the operators whose rows are computed once for several reports, and what these read."""
    graph, options = compiled.stream_graph, compiled.options
    is_whole = graph.job_type is JobType.BATCH and options.shuffle_mode is not ShuffleMode.ALL_EXCHANGES_PIPELINED
    if not is_whole or not options.shared_results:
        return {}
    here = ReadersHere(compiled)
    many = (node for node in graph.nodes if len(graph.out_edges[node.id]) >= LEAST_READERS)
    found = ((node.id, _shared_reads(node.id, compiled, here)) for node in many)
    return {id: reads for id, reads in found if reads is not None}


def _shared_reads(node_id: int, compiled: CompiledPipeline, here: ReadersHere) -> SharedReads | None:
    readers, graph = here(node_id), compiled.stream_graph
    totals = [each.operator for each in readers if _reads_named_columns(each.operator) and not each.is_union]
    if len(totals) < len(readers) or graph.node[node_id].operator.output_tags():
        return None
    if any(edge.pipelining_text is not None for edge in graph.out_edges[node_id]):
        return None
    if not all(map(_has_no_condition, _after(readers, here))) or not _is_costly(node_id, compiled, here):
        return None
    names = [_names_in(use.text) for operator in totals if operator is not None for use in operator.columns_used()]
    known = {name for found in names for name in found or ()}
    return None if None in names else SharedReads(readers=len(totals), names=tuple(sorted(known)))


def _reads_named_columns(operator: Operator | None) -> bool:
    """Whether it is a total: a side output has whole rows."""
    return operator is not None and type(operator) in _TOTALS and not operator.output_tags()


def _has_no_condition(operator: Operator) -> bool:
    """Whether an operator behind the totals gives Spark nothing to move before them."""
    if isinstance(operator, ContractOperator):
        return type(operator) in _COUNTS and operator.outcome() in (OnViolation.WARN, OnViolation.FAIL)
    return type(operator) in _KEEPS_ROWS


def _is_costly(node_id: int, compiled: CompiledPipeline, here: ReadersHere) -> bool:
    """Whether Spark moves rows, or calls Python, to compute an operator in its region."""
    waiting, seen = [node_id], set[int]()
    while waiting:
        if (current := waiting.pop()) in seen:
            continue
        seen.add(current)
        operator, edges = compiled.stream_graph.node[current].operator, list(here.inputs(current))
        if isinstance(operator, (*_MOVES_ROWS, *_CALLS_PYTHON)):
            return True
        if isinstance(operator, Join) and not any(edge.partitioner.is_broadcast for edge in edges):
            return True
        waiting += [edge.source_id for edge in edges]
    return False


def _after(readers: Iterable[Reader], here: ReadersHere) -> Iterator[Operator]:
    """Yield all operators behind some readers, and theirs."""
    waiting, seen = [*readers], set[int]()
    while waiting:
        reader = waiting.pop()
        if reader.operator is None or reader.node_id in seen:
            continue
        seen.add(reader.node_id)
        yield reader.operator
        waiting += here(reader.node_id)


_BEFORE_STARS = frozenset({"(", ",", ".", "DISTINCT", "ALL", "SELECT"})
"""What a star follows that stands for all columns: `count(DISTINCT *)`, `struct(*)`."""


def _names_in(text: str) -> frozenset[str] | None:
    """Return all words of a text, and itself; None if it may read what it does not name."""
    tokens = tokens_of(text)
    plain = ["" if token.is_quoted else token.text for token in tokens]
    if not _READS_UNNAMED.isdisjoint(plain) or _has_star(plain):
        return None
    return frozenset([text.strip(), *(name_at(text, token) for token in tokens)])


def _has_star(plain: Sequence[str]) -> bool:
    """Whether a star may stand for all columns: it does not in count(*) and between two operands."""
    for place, text in enumerate(plain):
        before = plain[place - 1] if place else "("
        if text == "*" and before in _BEFORE_STARS and plain[max(0, place - 2) : place] != ["COUNT", "("]:
            return True
    return False
