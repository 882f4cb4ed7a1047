"""Run pipelines in a test, in one local session: sources get rows, and everything else is as in production."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from tempfile import mkdtemp
from typing import Any, TypeAlias
from uuid import uuid4

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Kafka
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.operators import Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.parameters.typed_value import TypedValue, typed_value
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.plans.subplans import only_up_to
from graph_compiler.errors import ParameterError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.operator_names import NamedOutput, find_output
from graph_compiler.graphs.stream_graph import StreamNode
from graph_compiler.graphs.stream_queries import StreamQueries
from graph_compiler.identifiers import shown
from graph_compiler.spark_runtime.rehearsal.given_batches import arriving_columns, full_records, with_columns_of_records
from graph_compiler.spark_runtime.rehearsal.local_session import Frame, Session
from graph_compiler.spark_runtime.rehearsal.rehearsal import Rehearsal, rehearsed
from graph_compiler.spark_runtime.rehearsal.test_rows import GivenRow, GivenRowsError, given_rows, listed_rows
from graph_compiler.staging.attempts.artifact_copies import put_artifacts
from graph_compiler.staging.attempts.run_marker import RunMarker, mark_run
from graph_compiler.staging.store.stores import store_of
from graph_compiler.testing.batches import sources_with_batches
from graph_compiler.testing.hidden_frames import hides_frames
from graph_compiler.testing.pipeline_result import PipelineFailedError, PipelineResult
from graph_compiler.testing.sources import Rows, SourcePlace, SourcesError, match_sources

GivenRows: TypeAlias = Frame | Rows | Iterable[GivenRow]
Given: TypeAlias = GivenRows | Sequence[GivenRows] | SourcePlace
DAY = "2001-01-01"
"""The default day of a run, fixed so that tests do not depend on the current day."""
_HOST = "test"


@dataclass(frozen=True, slots=True)
class MiniCluster:
    """Runs pipelines in a session, one region after the other (Flink's term for a cluster inside a test)."""

    spark: Session

    @hides_frames
    def run(
        self,
        pipeline: StreamExecutionEnvironment | Pipeline,
        sources: Mapping[str, Given] | SourcePlace | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        day: str | date = DAY,
        until: str | None = None,
        write_sinks: bool = False,
    ) -> PipelineResult:
        """Run a pipeline, or with `until` only what one operator needs, and return its result.

        `sources` has for each source, by name or uid: rows as dicts, `Rows` with a schema, a DataFrame, or REAL, which
        reads it as in production; for a source that never ends also a list of batches, each of them rows. Sinks keep
        their rows; with `write_sinks` they also write them. `day` is the run's day; `current_timestamp()` is its start,
        in UTC. If `day` is a datetime, `current_timestamp()` is that time, to the microsecond. Each batch has a time of
        its own. Raises PipelineFailedError with the same message as in production.
        """
        compiled = compile_pipeline(pipeline if isinstance(pipeline, Pipeline) else pipeline.pipeline())
        regions = describe_regions(compiled)
        output = None if until is None else find_output(compiled.stream_graph, until)
        if output is not None:
            regions = only_up_to(regions, output.node.id)
        frames, batches = self._given(compiled, regions, sources)
        if batches and output is not None:
            _refuse_operator_of_stream(compiled, output)
        regions = tuple(rehearsed(region, (*frames, *batches), writes_sinks=write_sinks) for region in regions)
        root = mkdtemp(prefix="pipeline-run-")
        rehearsal = Rehearsal(
            spark=self.spark, root=root, given=frames, batches=batches, writes_sinks=write_sinks, target=_target(output)
        )
        weakref.finalize(rehearsal, shutil.rmtree, root, ignore_errors=True)
        run = DeskRun(day=_day(day), params=_params(compiled, params or {}), run_id="test", staging_root=root)
        # An id of its own, as in production: a sink names its files after it, and an earlier run may have written some.
        tasks = [desk_task(region, run, execution_id=uuid4().hex) for region in regions]
        marker = RunMarker.of(tasks[0], host=_HOST, time=_now(day).timestamp())
        mark_run(store_of(root), marker)
        put_artifacts(store_of(root), tasks[0])
        failure = rehearsal.run(tasks)
        if failure is not None:
            region = regions[len(rehearsal.reports) - 1]
            raise PipelineFailedError(failure, failure.words(compiled.pipeline.name, region.region_id))
        return PipelineResult(compiled=compiled, rehearsal=rehearsal)

    def _given(
        self,
        compiled: CompiledPipeline,
        regions: Iterable[RegionDescriptor],
        sources: Mapping[str, Given] | SourcePlace | None,
    ) -> tuple[dict[int, Frame], dict[int, list[Frame]]]:
        """Return the rows of sources, by node id; and the batches of those that have some."""
        if isinstance(sources, SourcePlace):
            return {}, {}
        given = dict(sources or {})
        matched = match_sources(compiled.stream_graph, given, _node_ids(regions))
        batches = sources_with_batches(compiled.stream_graph, matched, given)
        frames = {
            node.id: self._frame(node, rows)
            for name, node in matched.items()
            if name not in batches and not isinstance(rows := given[name], SourcePlace)
        }
        return frames, {matched[name].id: self._batches(matched[name], each) for name, each in batches.items()}

    def _frame(self, node: StreamNode, given: object, first: int = 0) -> Frame:
        """Return rows as a DataFrame; `first` is the offset of the first record of Kafka."""
        assert isinstance(node.operator, Source), "it was found among the sources"
        source, connector = node.declared_name, node.operator.connector
        if isinstance(given, Rows):
            given = given_rows(source, given.rows, given.schema, self.spark)
        if isinstance(given, Frame):
            return with_columns_of_records(source, given, connector) if isinstance(connector, Kafka) else given
        rows = listed_rows(source, given)
        if isinstance(connector, Kafka):
            rows = full_records(connector, rows, first)
        is_known = not node.operator.is_bounded or isinstance(connector, Kafka)
        columns = arriving_columns(connector) if is_known else connector.schema
        return given_rows(source, rows, columns, self.spark)

    def _batches(self, node: StreamNode, given: Sequence[object]) -> list[Frame]:
        frames: list[Frame] = []
        offset = 0
        for number, each in enumerate(given):
            try:
                frames.append(self._frame(node, each, offset))
            except GivenRowsError as error:
                raise GivenRowsError(f"batch {number}: {error}") from None
            offset += len(each) if isinstance(each, list) else 0
        return frames


def _refuse_operator_of_stream(compiled: CompiledPipeline, output: NamedOutput) -> None:
    """Raise SourcesError if an operator is asked for whose rows no batch keeps."""
    if not output.is_sink and output.node.id in StreamQueries(compiled.stream_graph).unbounded:
        raise SourcesError(
            f"pipeline '{compiled.pipeline.name}': until is '{output.name}', and batches keep rows of sinks only\n"
            "  allowed: until= with the name of a sink\n"
            "  hint: rows instead of batches show all operators, as a batch job"
        )


def _target(output: NamedOutput | None) -> tuple[int, str | None] | None:
    """Return the output whose rows `until` requests, None for a sink, whose rows are kept anyway."""
    return None if output is None or output.is_sink else (output.node.id, output.tag)


def _day(day: str | date) -> str:
    """Return a day as ISO text, as in every run."""
    if isinstance(day, datetime):
        return day.date().isoformat()
    try:
        return date.fromisoformat(str(day)).isoformat()
    except ValueError:
        raise ParameterError(f"day is {shown(day)}\n  allowed: a day, such as '2013-01-01'") from None


def _now(day: str | date) -> datetime:
    """Return the run's current time: a given datetime (in UTC unless it has a zone), otherwise the start of the day."""
    if isinstance(day, datetime):
        return day if day.tzinfo else day.replace(tzinfo=UTC)
    return datetime.combine(date.fromisoformat(_day(day)), time(), UTC)


def _params(compiled: CompiledPipeline, given: Mapping[str, Any]) -> dict[str, ParameterValue]:
    defaults = dict(compiled.pipeline.params)
    parsed = {name: _parsed(name, value, defaults) for name, value in given.items()}
    check_parameters(compiled.pipeline, parsed)
    return {**defaults, **parsed}


def _parsed(name: str, value: object, defaults: Mapping[str, ParameterValue]) -> ParameterValue:
    default = defaults.get(name)
    if isinstance(default, TypedValue) and not isinstance(value, str):
        try:
            return typed_value(default.kind, value)
        except ValueError as error:
            raise ParameterError(f"parameter '{name}' is {shown(value)}\n  allowed: {error}, or None") from None
    if not isinstance(value, str | int | float | date):
        raise ParameterError(f"parameter '{name}' is {shown(value)}\n  allowed: a str, int, float or bool, or a date")
    return parse_parameter(name, str(value), defaults)


def _node_ids(regions: Iterable[RegionDescriptor]) -> frozenset[int]:
    return frozenset(operator.node_id for region in regions for operator in region.operators)
