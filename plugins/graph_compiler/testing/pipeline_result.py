"""The result of a pipeline in a test: rows of any operator by its name, rows of sinks, counts of contracts; batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.operator_names import NamedOutput, OperatorNotFoundError, find_output, find_sink
from graph_compiler.identifiers import did_you_mean, listing
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.rehearsal.local_session import Frame
from graph_compiler.spark_runtime.rehearsal.rehearsal import Rehearsal
from graph_compiler.testing.hidden_frames import hides_frames
from graph_compiler.testing.row_assertions import RELATIVE, Row, assert_rows, in_order_of_values


class PipelineFailedError(GraphCompilerError):
    """A pipeline failed as it would in production; `failure` has the same message."""

    def __init__(self, failure: Failure, words: str) -> None:
        super().__init__(words)
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRows:
    """The rows of a sink: `rows` in the order of their values, `columns` with their types."""

    rows: list[dict[str, object]]
    columns: dict[str, str]


class NoBatchesError(GraphCompilerError):
    """A test looks at batches of a run that had none, or at operators of which batches keep nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """One batch of a stream: what its sinks were given, and where the stream was in it."""

    number: int
    compiled: CompiledPipeline
    rehearsal: Rehearsal
    published: tuple[PublishedBatch, ...]

    @hides_frames
    def sink(self, name: str) -> SinkRows:
        """Return the rows that a sink was given in this batch, before they are merged."""
        node = find_sink(self.compiled.stream_graph, name)
        _check_run(self.rehearsal, self.compiled, NamedOutput(node=node, tag=None))
        rows = self.rehearsal.rows_of_batch(node.id, self.number)
        return SinkRows(rows=in_order_of_values(rows), columns=_columns(self.rehearsal.frame((node.id, None))))

    @hides_frames
    def assert_rows(self, sink: str, expected: Iterable[Row], *, relative: float = RELATIVE) -> None:
        """Raise AssertionError unless a sink was given these rows in this batch, in any order."""
        _assert_rows(f"'{sink}' in batch {self.number}", self.sink(sink).rows, expected, relative=relative)

    @property
    def late(self) -> int:
        """How many rows were left out, or more, because they came too late, and are in no side output."""
        return sum(each.late for each in self.published)

    @property
    def watermark(self) -> datetime | None:
        """The watermark that the rows before this batch have made, in UTC; None if there is none yet."""
        texts = [each.progress.watermark for each in self.published if each.progress is not None]
        times = [datetime.fromisoformat(text) for text in texts if text is not None]
        return min((time.astimezone(UTC).replace(tzinfo=None) for time in times), default=None)

    @property
    def state_rows(self) -> int:
        """How many rows the stream remembers behind this batch, of all operators that keep state."""
        return sum(each.progress.state_rows or 0 for each in self.published if each.progress is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """The result of a run. Operators are identified by name or uid; `flown.cancelled` is a side output of `flown`."""

    compiled: CompiledPipeline
    rehearsal: Rehearsal

    @hides_frames
    def rows(self, operator: str, *, ordered: bool = False) -> list[dict[str, object]]:
        """Return the output rows of an operator, or a sink's rows, as dicts.

        They are sorted by their values; `ordered` keeps Spark's order, which only a sort or top_n guarantees.
        """
        return self._rows(self._output(operator), ordered=ordered)

    @hides_frames
    def columns(self, operator: str) -> dict[str, str]:
        """Return the columns of an operator's output, with their types: `{"delay": "INT"}`."""
        return _columns(self.frame(operator))

    @hides_frames
    def frame(self, operator: str) -> Frame:
        """Return the output of an operator as a DataFrame."""
        output = self._output(operator)
        return self.rehearsal.frame((output.node.id, output.tag))

    @hides_frames
    def sink(self, name: str) -> SinkRows:
        """Return the rows of a sink, with its declared columns."""
        output = NamedOutput(node=find_sink(self.compiled.stream_graph, name), tag=None)
        self._check_run(output)
        return SinkRows(rows=self._rows(output), columns=_columns(self.rehearsal.frame((output.node.id, None))))

    @property
    @hides_frames
    def batches(self) -> tuple[BatchResult, ...]:
        """Return the batches of a stream, in their order.

        They are those that were given; and behind them, if the watermark has moved, one without rows, as at the end of
        each run. Raises NoBatchesError if no batches were given.
        """
        published = self.rehearsal.published()
        if not published:
            raise NoBatchesError(
                f"pipeline '{self.compiled.pipeline.name}' has run without batches\n"
                "  allowed: batches for a source that never ends: [[{…}, {…}], [{…}]]"
            )
        return tuple(
            BatchResult(
                number=number, compiled=self.compiled, rehearsal=self.rehearsal, published=tuple(published[number])
            )
            for number in sorted(published)
        )

    @property
    def contracts(self) -> dict[str, ContractCount]:
        """Return the counts of data contracts, by name: `.rows`, `.violations`, `.on_violation`."""
        counts = (count for report in self.rehearsal.reports for count in report.contracts)
        return {count.contract: count for count in counts}

    @hides_frames
    def contract(self, name: str) -> ContractCount:
        """Return the counts of one data contract; raises OperatorNotFoundError if no contract of that name ran."""
        counts = self.contracts
        if name in counts:
            return counts[name]
        hint = did_you_mean(name, counts)
        raise OperatorNotFoundError(
            f"no contract '{name}' has counted rows\n  found: {listing(counts)}" + (f"\n  hint: {hint}" if hint else "")
        )

    @hides_frames
    def assert_rows(
        self, operator: str, expected: Iterable[Row], *, ordered: bool = False, relative: float = RELATIVE
    ) -> None:
        """Raise AssertionError unless an operator's output has these rows; only the columns they name are compared."""
        found = self.rows(operator, ordered=ordered)
        _assert_rows(f"'{operator}'", found, expected, ordered=ordered, relative=relative)

    def _output(self, name: str) -> NamedOutput:
        output = find_output(self.compiled.stream_graph, name)
        self._check_run(output)
        return output

    def _check_run(self, output: NamedOutput) -> None:
        _check_run(self.rehearsal, self.compiled, output)

    def _rows(self, output: NamedOutput, *, ordered: bool = False) -> list[dict[str, object]]:
        found = self.rehearsal.rows((output.node.id, output.tag))
        if isinstance(found, Failure):
            vertex = self.compiled.job_graph.vertex_of_node[output.node.id]
            region = self.compiled.deployment.region_of_vertex[vertex.id]
            raise PipelineFailedError(found, found.words(self.compiled.pipeline.name, region.id)) from None
        return list(found) if ordered else in_order_of_values(found)


def _check_run(rehearsal: Rehearsal, compiled: CompiledPipeline, output: NamedOutput) -> None:
    """Raise OperatorNotFoundError for what was not run, NoBatchesError for operators of which batches keep nothing."""
    if not rehearsal.was_run(output.node.id):
        raise OperatorNotFoundError(
            f"'{output.name}' was not run: the operator of until= does not need it\n"
            f"  hint: run all of '{compiled.pipeline.name}', or until=\"{output.name}\""
        )
    if rehearsal.is_streamed(output.node.id) and not output.is_sink:
        raise NoBatchesError(
            f"'{output.name}' was run batch by batch, and only the rows of sinks are kept\n"
            "  allowed: the name of a sink\n"
            "  hint: rows instead of batches show all operators, as a batch job"
        )


def _assert_rows(
    what: str, found: Iterable[Row], expected: Iterable[Row], *, ordered: bool = False, relative: float
) -> None:
    try:
        assert_rows(found, expected, ordered=ordered, relative=relative)
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from None


def _columns(rows: Frame) -> dict[str, str]:
    return {field.name: type_words(field.dataType) for field in rows.schema}
