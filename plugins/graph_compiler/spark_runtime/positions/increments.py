"""The increments of a task's sources that read only what is new (decision 78).

take      before anything is evaluated: each source of the region gets its run's increment
pin       the source reads exactly that: these files, or the rows between these bounds
claim     before the first sink is published; done, after the last
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.sql import SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector, Delta, FileConnector, Iceberg, Jdbc, SinkMode
from graph_compiler.declaration.connectors.connector import NO_COMMIT
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.position import (
    ColumnBounds,
    Increment,
    ReadFrom,
    ReadIncrement,
    SourcePosition,
)
from graph_compiler.deployment.documents.staging_layout import PositionLayout, StagingLayout
from graph_compiler.extensions import load_spark_half
from graph_compiler.identifiers import OperatorId, listing
from graph_compiler.spark_runtime.connectors.lake.formats import read_commit
from graph_compiler.spark_runtime.positions.new_files import new_files, pinned_files
from graph_compiler.spark_runtime.positions.new_rows import new_rows, pinned_rows
from graph_compiler.staging.positions.known import Known, NewPart
from graph_compiler.staging.positions.position_log import PositionError, PositionLog
from graph_compiler.staging.store.staging_store import StagingStore

LOG = program_log.logger(__name__)
Running = Callable[[OperatorDescriptor], AbstractContextManager[None]]
"""Attributes failures to an operator."""


@dataclass(slots=True, kw_only=True)
class Increments:
    """The increments of one run, as its execution `execution_id` reads and publishes them.

    `is_given`: rows are given for its sources, as in a test, so nothing is taken.
    """

    spark: SparkSession
    store: StagingStore
    layout: StagingLayout
    execution_id: str
    is_given: bool = False
    read: dict[str, ReadIncrement] = field(default_factory=dict)
    _pinned: dict[tuple[str, Connector], Connector] = field(default_factory=dict)

    @classmethod
    def of(
        cls, task: TaskDeploymentDescriptor, spark: SparkSession, store: StagingStore, *, is_given: bool = False
    ) -> Increments:
        """Return those of a task's run."""
        return cls(
            spark=spark, store=store, layout=task.layout, execution_id=task.attempt.execution_id, is_given=is_given
        )

    def obtain(
        self, region: RegionDescriptor, running: Callable[[OperatorDescriptor], AbstractContextManager[None]]
    ) -> None:
        """Let the run have its increment of each source that a region reads, and record the sinks that it reaches.

        Raises PositionError if it cannot have one, PositionBusyError if it may have one later; `running` adds whose.
        """
        for operator, position in () if self.is_given else _with_positions(region):
            source = _source(operator)
            with running(operator):
                increment = self._log(position).obtain(
                    self.layout,
                    self.execution_id,
                    position.sinks,
                    replace(_read_from(source), mapped=position.mapped),
                    partial(self._look, source, position),
                )
            LOG.info("source %s reads increment %s: %s", operator.name, increment.number, increment.words())
        own = {operator.node_id for operator, _ in _with_positions(region)}
        for position in () if self.is_given else region.positions:
            log = self._log(position)
            if position.node_id not in own and (taken := log.of_run(self.layout.identity)) is not None:
                log.reaches(taken, position.sinks)

    def pin(self, region: RegionDescriptor, operator: OperatorDescriptor, connector: Connector) -> Connector:
        """Return a source's connector, reading exactly what the run's increment holds; others are unchanged.

        Raises PositionError if the run has none, if another run got it, or if one of its files has changed.
        """
        position = next((each for each in region.positions if each.node_id == operator.node_id), None)
        source = operator.operator
        if self.is_given or position is None or not isinstance(source, Source) or not source.has_position:
            return connector
        key = (position.uid, connector)
        if key not in self._pinned:
            log = self._log(position)
            increment = self._own(log, position)
            if isinstance(connector, Jdbc):
                assert increment.bounds is not None, "it was taken for the same source"
                self._pinned[key] = pinned_rows(connector, self.spark, str(source.only_new), increment.bounds)
            elif isinstance(connector, Iceberg | Delta):
                assert increment.bounds is not None, "it was taken for the same source"
                self._pinned[key] = _pinned_commits(connector, increment.bounds)
            else:
                assert isinstance(connector, FileConnector), "the compiler refuses other kinds"
                self._pinned[key] = pinned_files(connector, self.spark, log.files_of(increment))
            self.read[position.uid] = ReadIncrement(
                operator=operator.name,
                uid=position.uid,
                number=increment.number,
                files=increment.files,
                bytes=increment.bytes,
                column=increment.read_from.column,
                bounds=increment.bounds,
            )
        return self._pinned[key]

    def pinned(self, region: RegionDescriptor) -> RegionDescriptor:
        """Return a region whose sources read what the run has read."""

        def change(operator: OperatorDescriptor) -> OperatorDescriptor:
            if not isinstance(operator.operator, Source):
                return operator
            connector = self.pin(region, operator, operator.operator.connector)
            return replace(operator, operator=replace(operator.operator, connector=connector))

        return region.changed(change) if region.positions else region

    def claim(self, region: RegionDescriptor, targets: Mapping[OperatorId, str | None]) -> None:
        """Record that the sinks of a region are about to publish: no other run may have the increments from now on.

        Raises IncrementSupersededError if another run has one of them.
        """
        for position, own in () if self.is_given else _reached(region, targets):
            log = self._log(position)
            increment = self._own(log, position)
            if merges := _merges(region, own):
                _warn_of_older_rows(log, increment, merges)
            log.claim(increment, {id: targets[id] for id in own})

    def done(self, region: RegionDescriptor, published: Iterable[OperatorId]) -> None:
        """Record that sinks have published."""
        for position, own in () if self.is_given else _reached(region, published):
            log = self._log(position)
            log.done(self._own(log, position), own)

    def _log(self, position: SourcePosition) -> PositionLog:
        layout = PositionLayout(root=self.layout.root, owner=self.layout.identity.owner, uid=position.uid)
        return PositionLog(store=self.store, layout=layout)

    def _own(self, log: PositionLog, position: SourcePosition) -> Increment:
        increment = log.of_run(self.layout.identity)
        if increment is None:
            raise PositionError(
                f"run '{self.layout.identity.run_id}' has read nothing by the position of '{position.name}': it began "
                "before the source had one\n  hint: run all of it again, from the task that reads the source"
            )
        log.check_own(increment)
        return increment

    def _look(self, source: Source, position: SourcePosition, known: Known) -> NewPart:
        connector = source.connector
        if isinstance(connector, Jdbc):
            bounds = new_rows(connector, self.spark, str(source.only_new), source.lag_length(), known.upper)
            return NewPart(bounds=bounds)
        if isinstance(connector, Iceberg | Delta):
            return NewPart(bounds=_new_commits(connector, self.spark, known.upper))
        assert isinstance(connector, FileConnector), "the compiler refuses other kinds"
        owner = self.layout.identity.owner
        return NewPart(files=new_files(connector, self.spark, known.files, f"{owner} {position.uid}"))


def _with_positions(region: RegionDescriptor) -> list[tuple[OperatorDescriptor, SourcePosition]]:
    """Return the operators of a region that have a position."""
    by_node = {position.node_id: position for position in region.positions}
    return [(each, by_node[each.node_id]) for each in region.operators if each.node_id in by_node]


def _reached(
    region: RegionDescriptor, operator_ids: Iterable[OperatorId]
) -> list[tuple[SourcePosition, list[OperatorId]]]:
    """Return each position with those of the sinks that its rows reach."""
    given = set(operator_ids)
    own = {each: [sink.operator_id for sink in each.sinks if sink.operator_id in given] for each in region.positions}
    return [(position, ids) for position, ids in own.items() if ids]


def _merges(region: RegionDescriptor, operator_ids: Iterable[OperatorId]) -> list[str]:
    """Return the names of those of the sinks that merge by key."""
    own = set(operator_ids)
    found = (each for each in region.operators if each.operator_id in own)
    return [each.name for each in found if isinstance(each.operator, Sink) and each.operator.mode is SinkMode.MERGE]


def _warn_of_older_rows(log: PositionLog, increment: Increment, merges: Sequence[str]) -> None:
    """Warn if a run that is run again merges files over what later runs have merged.

    Rows of a database are as they are now: one that has changed since is not between the bounds of the run any more.
    """
    if increment.files and (later := log.overtaken_by(increment)) is not None:
        LOG.warning(
            "run '%s' has read later rows of '%s', and is published: this run merges older ones into %s, which replace "
            "those with the same keys. Clear run '%s' and those after it, too, in their order",
            later,
            log.layout.uid,
            listing(merges),
            later,
        )


def _source(operator: OperatorDescriptor) -> Source:
    assert isinstance(operator.operator, Source), "only sources have positions"
    return operator.operator


def _read_from(source: Source) -> ReadFrom:
    """Return what a position is about; of a database only its table, since that may move to another host."""
    connector = source.connector
    column = source.only_new if isinstance(source.only_new, str) else None
    if isinstance(connector, Jdbc):
        place = "a query" if connector.table is None else connector.table
        return ReadFrom(kind=type(connector).__name__, place=place, column=column)
    if isinstance(connector, Iceberg | Delta):
        what = "changes of " if connector.changes else ""
        return ReadFrom(kind=type(connector).__name__, place=f"{what}{connector.place}", column=None)
    assert isinstance(connector, FileConnector), "the compiler refuses other kinds"
    return ReadFrom(kind=connector.spark_format.lower(), place=str(connector.place), column=None)


def _new_commits(connector: Iceberg | Delta, spark: SparkSession, known: ColumnBounds | None) -> ColumnBounds:
    """Return the commits that are new, as bounds; raises PositionError if they are those of another table."""
    load_spark_half(type(connector))
    now = read_commit(connector, spark)
    kind = f"{now.kind} of table {now.table}"
    if known is not None and known.kind != kind:
        raise PositionError(
            f"{connector.place} was created again: its position is a {known.kind}, and it is table {now.table}"
        )
    lower = None if known is None else known.upper
    return ColumnBounds(kind=kind, lower=lower, upper=None if now.commit is None else str(now.commit))


def _pinned_commits(connector: Iceberg | Delta, bounds: ColumnBounds) -> Iceberg | Delta:
    """Return a source that reads exactly what the commits within bounds have added or changed."""
    if isinstance(connector, Delta):
        assert bounds.upper is not None, "a Delta table has a version"
        return replace(connector, since=None if bounds.lower is None else int(bounds.lower), version=int(bounds.upper))
    return replace(connector, since=bounds.lower, version=bounds.upper or NO_COMMIT)
