"""Operator coordinators (Flink's term): the driver's work for an operator during an execution.

    start ─▶ attempt n started ─▶ rows move ─▶ commit ─▶ close
                                       └─▶ attempt n failed ─▶ close

A source's coordinator enumerates its splits and assigns them to subtasks. A sink's coordinator is its committer: it
claims the target's next publication, prepares the rows beside the target, and publishes them once every sink of the
region is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import assert_never

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import FileConnector, SinkMode
from graph_compiler.declaration.connectors.spark_options import OF_STREAMS
from graph_compiler.declaration.coordination import CoordinatorKind, MasterHook
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, VertexDescriptor
from graph_compiler.deployment.documents.report import Output
from graph_compiler.deployment.documents.staging_layout import REMOVED
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DecisionLostError, InitializeOnMasterError, Problem, PublicationError
from graph_compiler.graphs.coordination import InputSplitAssigner
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors import OpenSink, PreparedSink, SinkContext, SinkOpener, open_sink
from graph_compiler.spark_runtime.connectors.missing_files import why_missing
from graph_compiler.spark_runtime.publishing.target_folder import open_target, why_unfit
from graph_compiler.spark_runtime.secret_values import redact
from graph_compiler.spark_runtime.spark_internals.file_options import ignored_options
from graph_compiler.staging.publications.preparations import Preparation, PreparedPlace
from graph_compiler.staging.publications.unexplained_attempts import PUBLISHED, TAKEN_AWAY
from graph_compiler.tested_versions import SPARK

# The driver's checks before any data moves: inputs must exist, targets must be creatable.
#
# All vertices of the region are checked, and all problems are reported at once: three missing inputs are one failure.

Blaming = Callable[[OperatorDescriptor], AbstractContextManager[None]]
"""Sets the current operator: errors raised within the block are attributed to it."""
Look = Callable[[Source | Sink, SparkSession], str | None]
"""Checks the place of a source or a sink; returns the problem, or None."""


def initialize_on_master(vertices: tuple[VertexDescriptor, ...], spark: SparkSession, blaming: Blaming) -> None:
    """Run the hooks of all vertices; raises InitializeOnMasterError with all problems."""
    problems = []
    for vertex in vertices:
        by_id = {operator.operator_id: operator for operator in vertex.operators}
        for initialization in vertex.initialize_on_master:
            operator = by_id[initialization.operator_id]
            with blaming(operator):
                words = HOOKS[initialization.hook](_endpoint(operator), spark)
            if words:
                problems.append(Problem(operator=operator.name, message=words, declared_at=operator.declared_at))
    if problems:
        raise InitializeOnMasterError(problems)


def _input_exists(source: Source | Sink, spark: SparkSession) -> str | None:
    files = _files_of(source)
    return _ignored_options(files, spark) or why_missing(files, spark)


def _target_can_be_made(sink: Source | Sink, spark: SparkSession) -> str | None:
    files = _files_of(sink)
    if wrong := _ignored_options(files, spark):
        return wrong
    is_file = isinstance(sink, Sink) and bool(sink.single_file)
    folder = open_target(files.one_path, is_file=is_file)
    if wrong := why_unfit(folder):
        return wrong
    wrong = folder.why_not_writable()
    return None if wrong is None else f"its target {folder.target} {wrong}"


_OF_STREAMS = frozenset(name.lower() for name in OF_STREAMS)
"""Readers of batches have no such options, and those of streams have them in every Spark."""
HOOKS: Mapping[MasterHook, Look] = {
    MasterHook.INPUT_EXISTS: _input_exists,
    MasterHook.TARGET_CAN_BE_MADE: _target_can_be_made,
}


def _ignored_options(files: FileConnector, spark: SparkSession) -> str | None:
    """Return which options an older Spark would ignore, None if it has all; the names are those of the newest."""
    format = files.spark_format.lower()
    names = [str(name) for name in files.spark_options() if name.lower() not in _OF_STREAMS]
    if not (ignored := ignored_options(spark, format, names)):
        return None
    return (
        f"Spark {spark.version} would ignore options of its {format} files: {', '.join(ignored)}\n"
        f"  hint: with Spark {SPARK.minors[-1]} they have an effect"
    )


def _endpoint(operator: OperatorDescriptor) -> Source | Sink:
    assert isinstance(operator.operator, Source | Sink), "what has a place has a hook"
    return operator.operator


def _files_of(endpoint: Source | Sink) -> FileConnector:
    assert isinstance(endpoint.connector, FileConnector), "only files have hooks"
    return endpoint.connector


LOG = program_log.logger(__name__)


class OperatorCoordinator:
    """The lifecycle of a coordinator; each kind overrides the steps that it needs."""

    def start(self) -> None:
        """Start, before any data moves; finish what earlier executions left open."""

    def execution_attempt_started(self, attempt_number: int) -> None:
        """Record that an attempt at the region starts; the first is 0."""

    def execution_attempt_failed(self, attempt_number: int, reason: BaseException) -> None:
        """Undo what was prepared for the attempt (in Flink, `executionAttemptFailed` and `subtaskReset`)."""

    def commit(self) -> tuple[Output, ...]:
        """Make the attempt's work visible; the operators of all coordinators have finished."""
        return ()

    def close(self) -> None:
        """Release resources, after success or failure."""


class SplitEnumerator(OperatorCoordinator):
    """The coordinator of a source: its splits, if the connector has any, and the subtask of each."""

    def __init__(self, operator: OperatorDescriptor, parallelism: int) -> None:
        self._operator = operator
        self._parallelism = parallelism
        self.assigner: InputSplitAssigner | None = None

    def start(self) -> None:
        """Enumerate the connector's splits; its places are already rendered."""
        source = self._operator.operator.input_split_source()
        wanted = self._operator.settings.parallelism or 1  # unset, the default does not split the read
        splits = None if source is None else source.create_input_splits(wanted)
        if splits is not None:
            self.assigner = InputSplitAssigner(
                operator_id=self._operator.operator_id, splits=splits, parallelism=self._parallelism
            )

    def execution_attempt_started(self, attempt_number: int) -> None:  # noqa: ARG002  # one signature for all kinds
        if self.assigner is not None:
            splits = counted(len(self.assigner.splits), "input split")
            if self._operator.settings.parallelism is not None:
                splits = f"{splits} for {counted(self._parallelism, 'subtask')}"
            LOG.info("source %s: %s", self._operator.name, splits)


class SinkCommitter(OperatorCoordinator):
    """The coordinator of a sink: claims the target; checks, prepares and publishes its rows."""

    def __init__(self, operator: OperatorDescriptor, context: SinkContext, open_sink: SinkOpener) -> None:
        self._operator = operator
        self._context = context
        self._open_sink = open_sink
        self._opened: OpenSink | None = None
        self._prepared: PreparedSink | None = None
        self._place: PreparedPlace | None = None
        self._is_decided = False

    def start(self) -> None:
        """Finish what others began with the target, and claim its next publication."""
        sink = self._operator.operator
        assert isinstance(sink, Sink)
        # Rows that are merged again are there once.
        restored = self._context.restored if sink.mode is SinkMode.APPEND else None
        context = replace(self._context, restored=restored)
        self._opened = self._open_sink(sink.connector, self._operator.operator_id, sink, context)

    def check(self, rows: DataFrame) -> DataFrame:
        """Return the rows as they will be written; refuse those that the target cannot take."""
        assert self._opened is not None, "it was started"
        return self._opened.check(rows)

    def prepare(self, rows: DataFrame) -> int:
        """Write checked rows where no reader looks, and count them."""
        assert self._opened is not None, "it was started"
        self._place = self._opened.prepares()
        if self._place is not None:
            self._record(".json", to_json(self._preparation(self._place), indent=None))
        self._prepared = self._opened.prepare(rows)
        return self._prepared.rows

    def target(self) -> str | None:
        """Return the target of the publication as the ledger names it, None if it has none, or was not started."""
        return None if self._opened is None else self._opened.target

    def commit(self) -> tuple[Output, ...]:
        """Publish what was prepared; from now on only the publication's record has the outcome.

        If another execution is known to have decided first, nothing was decided here: the prepared rows are removed.
        """
        assert self._prepared is not None, "its rows were prepared"
        self._is_decided = True
        try:
            commit = self._prepared.publish()
        except DecisionLostError:
            self._is_decided = False
            raise
        self._nothing_left(PUBLISHED)
        return (
            Output(
                kind="sink",
                name=self._operator.name,
                location=self._prepared.location,
                rows=self._prepared.rows,
                bytes=self._prepared.bytes,
                commit=commit,
            ),
        )

    def execution_attempt_failed(self, attempt_number: int, reason: BaseException) -> None:  # noqa: ARG002  # as above
        """Remove prepared rows, unless an intent may name them: then the next execution needs them to finish it."""
        if self._opened is None or self._is_decided:
            return
        try:
            self._opened.discard()
        except Exception as error:  # it must not hide the reason of the failure
            words = redact(str(error), self._operator)
            LOG.warning("what sink %s has prepared is left: %s", self._operator.name, words)
        else:
            self._nothing_left(TAKEN_AWAY)

    def _preparation(self, place: PreparedPlace) -> Preparation:
        return Preparation(operator_id=self._operator.operator_id, execution_id=self._context.writer_id, prepared=place)

    def _nothing_left(self, why: str) -> None:
        if self._place is None:
            return
        if self._context.batch is None:
            self._record(REMOVED, why)
        else:  # the next batch of this execution prepares something else
            self._context.store.delete(self._key(".json"))

    def _record(self, ending: str, content: str) -> None:
        self._context.store.put_if_absent(self._key(ending), content.encode())

    def _key(self, ending: str) -> str:
        context = self._context
        return context.layout.preparation(context.region_id, context.execution_id, self._operator.operator_id, ending)


@dataclass(frozen=True, slots=True)
class OperatorCoordinators:
    """All coordinators of a region, in the order of its vertices (Flink's OperatorCoordinatorHandler)."""

    members: tuple[tuple[OperatorDescriptor, OperatorCoordinator], ...]
    blaming: Blaming

    @contextmanager
    def attempt(self, number: int) -> Iterator[None]:
        """Run an attempt at the region: start all coordinators, and notify all of them when it ends."""
        try:
            for operator, coordinator in self.members:
                with self.blaming(operator):
                    coordinator.start()
                    self._refuse_target_of_another(coordinator)
            for operator, coordinator in self.members:
                with self.blaming(operator):
                    coordinator.execution_attempt_started(number)
            yield
        except BaseException as reason:
            for _, coordinator in self.members:
                coordinator.execution_attempt_failed(number, reason)
            raise
        finally:
            for _, coordinator in self.members:
                coordinator.close()

    def _refuse_target_of_another(self, coordinator: OperatorCoordinator) -> None:
        """Raise PublicationError if an earlier sink publishes to the same target, even in a different spelling."""
        target = coordinator.target() if isinstance(coordinator, SinkCommitter) else None
        if target is None:
            return
        for operator, other in self.members:
            if other is coordinator:
                return
            if isinstance(other, SinkCommitter) and other.target() == target:
                raise PublicationError(
                    f"its target {target} is also written by '{operator.name}'\n"
                    "  hint: give each its own target; union(…) combines two streams into one sink"
                )

    def committer(self, sink: OperatorDescriptor) -> SinkCommitter:
        """Return the coordinator of a sink."""
        (found,) = [coordinator for operator, coordinator in self.members if operator is sink]
        assert isinstance(found, SinkCommitter)
        return found

    def commit(self) -> tuple[Output, ...]:
        """Commit all coordinators in order, functions last; return the publications."""
        outputs: list[Output] = []
        for operator, coordinator in sorted(self.members, key=lambda member: _is_published_last(member[0])):
            with self.blaming(operator):
                outputs.extend(coordinator.commit())
        return tuple(outputs)


def _is_published_last(operator: OperatorDescriptor) -> bool:
    return isinstance(operator.operator, Sink) and operator.operator.connector.is_published_last


def make_coordinators(
    vertices: tuple[VertexDescriptor, ...], context: SinkContext, blaming: Blaming, open_sink: SinkOpener = open_sink
) -> OperatorCoordinators:
    """Make the coordinators that the vertices name; `open_sink` claims the targets of sinks."""
    members = [
        (operator, _make(provider.kind, operator, vertex.parallelism, context, open_sink))
        for vertex in vertices
        for provider in vertex.coordinators
        for operator in vertex.operators
        if operator.operator_id == provider.operator_id
    ]
    return OperatorCoordinators(tuple(members), blaming)


def _make(
    kind: CoordinatorKind, operator: OperatorDescriptor, parallelism: int, context: SinkContext, open_sink: SinkOpener
) -> OperatorCoordinator:
    match kind:
        case CoordinatorKind.SPLIT_ENUMERATOR:
            return SplitEnumerator(operator, parallelism)
        case CoordinatorKind.COMMITTER:
            return SinkCommitter(operator, context, open_sink)
    assert_never(kind)
