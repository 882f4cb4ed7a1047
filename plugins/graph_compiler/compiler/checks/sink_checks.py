"""Problems of a pipeline's targets and sink modes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from graph_compiler.compiler.checks.connector_checks import beginning, connectors_of
from graph_compiler.compiler.checks.previous_version_checks import is_its_target
from graph_compiler.declaration.connectors import Connector, FileConnector, SinkMode
from graph_compiler.declaration.connectors.file_uris import RELATIVE, places_with_stores, why_no_target, why_not_local
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.row_order import RowOrder, row_orders
from graph_compiler.declaration.transformations import PhysicalTransformation, SinkTransformation, label, problem_at
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_FROM_A_FILE = "a parameter's default can be built from the file's location: Path(__file__), or format: path in YAML"


def sinks(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sinks that cannot be written in their mode."""
    for transformation, connector in connectors_of(pipeline):
        if not isinstance(transformation.operator, Sink):
            continue
        if reason := connector.why_not_writable():
            allowed = "Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink"
            yield problem_at(transformation, reason, allowed=allowed)
        else:
            yield from _mode(transformation, transformation.operator, connector)
            yield from _keys(transformation, transformation.operator)
            yield from _folders(transformation, transformation.operator, connector)
            yield from _partitions(transformation, transformation.operator)
            yield from _root(transformation, connector, dict(pipeline.params))


def targets_that_meet(pipeline: Pipeline) -> Iterator[Problem]:
    """Find targets that two sinks write, in any mode, or that the pipeline also reads; also folders inside one.

    A target accepts one publication of a plan in each run, so a second sink would fail when it publishes.
    """
    endpoints = [(each, place) for each, connector in connectors_of(pipeline) for place in connector.each_place()]
    meeting = _meeting([connector for _, connector in endpoints])
    for number, (transformation, connector) in enumerate(endpoints):
        if not isinstance(transformation.operator, Sink):
            continue
        others = [index for index in meeting(number) if connector.meets(endpoints[index][1])]
        for other, there in (endpoints[index] for index in others if index < number):
            if isinstance(other.operator, Sink):
                yield problem_at(
                    transformation,
                    f"it writes {connector.place}, and '{other.name}' writes {there.place} ({other.declared_at})",
                    hint="give each its own target; union(…) combines two streams into one sink",
                )
        for other, there in (endpoints[index] for index in others):
            if isinstance(other.operator, Source) and not is_its_target(other.operator, there, connector):
                yield problem_at(
                    transformation,
                    f"it {transformation.operator.mode.verb} {connector.place}, and '{other.name}' reads {there.place}",
                    hint="write elsewhere: a retry would read what the first attempt wrote. from_target(…) reads what "
                    "was there before the run",
                )


def _meeting(connectors: Sequence[Connector]) -> Callable[[int], list[int]]:
    """Return a function from the number of a connector to those of all that may meet it, in order.

    It finds them by the places around and inside its own, so that many sinks need not be compared one by one. A kind
    of another package that says itself what it meets is compared with all.
    """
    of_itself = {n for n, connector in enumerate(connectors) if type(connector).meets is not Connector.meets}
    at: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    inside: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    keys = [connector.place_key() for connector in connectors]
    for number, key in enumerate(keys):
        if key is not None:
            at[key].append(number)
            for length in range(len(key) + 1):
                inside[key[:length]].append(number)

    def find(number: int) -> list[int]:
        key = keys[number]
        if number in of_itself:
            return [other for other in range(len(connectors)) if other != number]
        found = set(of_itself)
        if key is not None:
            found.update(inside[key])
            for length in range(len(key)):
                found.update(at.get(key[:length], ()))
        return sorted(found - {number})

    return find


def _root(
    transformation: PhysicalTransformation, connector: Connector, defaults: Mapping[str, ParameterValue]
) -> Iterator[Problem]:
    """Find targets that every run would refuse; if a target starts with a template, the run checks it."""
    if not isinstance(connector, FileConnector) or not connector.one_path.strip():
        return
    begins = beginning(connector.one_path, defaults)
    if begins is None:
        return
    if wrong := why_no_target(_TEMPLATE.sub("any", begins)):
        is_relative = why_not_local(begins) == RELATIVE
        yield problem_at(
            transformation,
            f"its target is '{begins}': {wrong}",
            allowed=places_with_stores(),
            hint=_FROM_A_FILE if is_relative else None,
        )


def relative_sources(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sources whose path depends on the working directory."""
    for transformation, connector in connectors_of(pipeline):
        if not isinstance(transformation.operator, Source):
            continue
        if not isinstance(connector, FileConnector):
            continue
        for path in connector.paths:
            begins = beginning(path, dict(pipeline.params)) if path.strip() else None
            if begins is not None and why_not_local(begins) == RELATIVE:
                yield problem_at(
                    transformation,
                    f"it reads '{begins}', a relative path: Spark looks for it in the folder its driver was started in",
                    allowed="an absolute path or a URI",
                    hint=_FROM_A_FILE,
                )


def tables_of_one_writer(pipeline: Pipeline) -> Iterator[Problem]:
    """Find tables that lose rows if two drivers write them at the same time."""
    for transformation, connector in connectors_of(pipeline):
        if isinstance(transformation.operator, Sink) and (why := connector.why_one_writer()):
            yield problem_at(
                transformation,
                f"it writes {connector.place}, which is for trying out: {why}. Of two drivers that commit at the same "
                "moment, one may replace the commit of the other",
                allowed="one driver at a time; Iceberg with a catalog of type jdbc or rest; Delta in HDFS",
            )


def orders(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sinks whose rows are redistributed after a sort, and cannot be sorted again."""
    for sink, order in row_orders(pipeline):
        operator = sink.operator
        files = operator.file_count if isinstance(operator, Sink) else None
        parallel = [
            each
            for each in (*order.operators, sink)
            if each.settings.parallelism is not None and not each.operator.is_non_parallel
        ]
        is_file = isinstance(operator, Sink) and operator.single_file
        what = "single_file=True" if is_file else f"files={files}" if files is not None else None
        if what is None and parallel:
            at = parallel[0]
            what = f"set_parallelism({at.settings.parallelism}) of '{label(at)}'"
        if order.lost_at is not None and what is not None:
            yield unordered(sink, order, f"{what} redistributes them")


def unordered(sink: SinkTransformation, order: RowOrder, why: str) -> Problem:
    """Return the problem of a sink whose rows cannot be brought into their order again."""
    assert order.lost_at is not None, "otherwise they are sorted again"
    by, lost = listing(order.order_by), label(order.lost_at)
    return problem_at(
        sink,
        f"its rows are sorted by {by}, {why}, and they cannot be sorted again: '{lost}' changes the columns",
        allowed="an order of columns that reach the sink as they are",
        hint=f"sort after '{lost}', or keep the columns; rebalance() after the sort if the order does not matter",
    )


def _mode(transformation: PhysicalTransformation, sink: Sink, connector: Connector) -> Iterator[Problem]:
    if sink.mode not in connector.sink_modes:
        kind = type(connector).__name__
        hint = f'mode="{connector.sink_modes[0]}"' if len(connector.sink_modes) == 1 else None
        message = f"{kind} has no mode '{sink.mode}'"
        yield problem_at(transformation, message, allowed=listing(connector.sink_modes), hint=hint)
    elif sink.mode is SinkMode.OVERWRITE_PARTITIONS and not (sink.partition_by or connector.has_own_partitions):
        yield problem_at(
            transformation,
            "its mode is 'overwrite-partitions', but it has no partitions",
            hint='name their columns: partition_by=("day",)',
        )


def _keys(transformation: PhysicalTransformation, sink: Sink) -> Iterator[Problem]:
    keys: tuple[object, ...] = sink.keys
    allowed = 'names of columns: keys=("id",)'
    if sink.mode is not SinkMode.MERGE:
        if keys:
            yield problem_at(
                transformation, f"keys is set, but its mode is '{sink.mode}'", allowed="keys with mode='merge'"
            )
    elif not keys:
        yield problem_at(transformation, "its mode is 'merge', but it has no keys", allowed=allowed)
    elif not all(isinstance(key, str) and key.strip() for key in keys):
        yield problem_at(transformation, f"keys is {sink.keys!r}", allowed=allowed)
    elif len({str(key).lower() for key in keys}) < len(keys):
        yield problem_at(transformation, f"keys names a column twice: {listing(map(str, keys))}")


def _folders(transformation: PhysicalTransformation, sink: Sink, connector: Connector) -> Iterator[Problem]:
    folders: tuple[object, ...] = sink.partition_by
    if not connector.has_folders and (folders or sink.files is not None):
        kind = type(connector).__name__
        setting = "partition_by" if folders else "files"
        own = setting == "partition_by" and connector.has_own_partitions
        why = f"the partitions of {kind} are its table's own" if own else f"{kind} writes no files"
        yield problem_at(
            transformation,
            f"{setting} is set, but {why}",
            allowed="file formats",
            hint="leave it out; partitioned_by of the connector is for a table that is created" if own else None,
        )
    if not all(isinstance(column, str) and column.strip() for column in folders):
        yield problem_at(
            transformation,
            f"partition_by is {sink.partition_by!r}",
            allowed='names of columns: partition_by=("year", "month")',
        )
    elif len({str(column).lower() for column in folders}) < len(folders):
        yield problem_at(transformation, f"partition_by names a column twice: {listing(map(str, folders))}")
    files: object = sink.files
    if files is not None and (not isinstance(files, int) or isinstance(files, bool) or files < 1):
        yield problem_at(transformation, f"files is {files!r}", allowed="a whole number from 1, or unset")


def _partitions(transformation: PhysicalTransformation, sink: Sink) -> Iterator[Problem]:
    """Find partitions without their mode, of columns that are no folders, and values that no folder can have."""
    if not sink.partitions:
        return
    if sink.mode is not SinkMode.OVERWRITE_PARTITIONS or not sink.connector.has_folders:
        kind = f"{type(sink.connector).__name__} with mode '{sink.mode}'"
        yield problem_at(
            transformation,
            f"partitions is set, but it writes to {kind}",
            allowed="partitions with files and mode='overwrite-partitions'",
        )
        return
    folders = {str(column).lower() for column in sink.partition_by}
    seen: set[str] = set()
    for column, value in sink.partitions:
        if folders and column.lower() not in folders:
            yield problem_at(
                transformation,
                f"partitions names '{column}', which is not in partition_by",
                allowed=listing(map(str, sink.partition_by)),
                hint=did_you_mean(column, map(str, sink.partition_by)),
            )
        elif column.lower() in seen:
            yield problem_at(transformation, f"partitions names column '{column}' twice", allowed="one value for each")
        seen.add(column.lower())
        if value is not None and not value.strip():
            yield problem_at(
                transformation,
                f"the partition of column '{column}' is an empty text, which no folder can have",
                allowed='a value or a template: partitions={"day": "{{ ds }}"}; None is NULL',
            )
