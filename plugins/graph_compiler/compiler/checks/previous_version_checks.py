"""Problems of sources that read the previous version of a target: without its sink, or where none can be pinned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from graph_compiler.compiler.checks.connector_checks import connectors_of
from graph_compiler.declaration.connectors import Connector, FileConnector, RecordFiles, SinkMode
from graph_compiler.declaration.operators import PreviousVersion, Sink
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_OF_THE_RUN = re.compile(
    r"(?<![.\w])(ds|ds_nodash|ts|ts_\w+|run_date|run_id|logical_date|execution_date|data_interval_\w+|dag_run|ti|"
    r"task_instance\w*|prev_\w+|next_\w+|try_number|map_index\w*|(?:triggering|inlet|outlet)_\w+)(?!\w)"
)
"""Variables of Airflow whose values differ by run."""


def previous_versions(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sources of previous versions that have no target, or one that no run has written before."""
    endpoints = [*connectors_of(pipeline)]
    sinks = [(one, connector) for one, connector in endpoints if isinstance(one.operator, Sink)]
    for transformation, connector in endpoints:
        operator = transformation.operator
        if not isinstance(operator, PreviousVersion):
            continue
        if not isinstance(connector, FileConnector):
            yield _not_files(transformation, connector)
            continue
        yield from _paths(transformation, connector)
        yield from _sinks(transformation, connector, sinks, pipeline)


def is_its_target(source: object, connector: Connector, sink: Connector) -> bool:
    """Whether a source reads the previous version of exactly what a sink writes."""
    is_one = len(connector.each_place()) == len(sink.each_place()) == 1
    return isinstance(source, PreviousVersion) and is_one and connector.place_key() == sink.place_key()


def _not_files(transformation: PhysicalTransformation, connector: Connector) -> Problem:
    reason, hint = connector.why_not_writable(), None
    if reason is None:
        reason = f"the previous version of a target of {type(connector).__name__} cannot be pinned for retries"
        hint = (
            "mode='merge' changes rows by key without reading the target; or keep the rows in files, read their "
            "previous version, and write them to the database as well"
        )
    return problem_at(transformation, reason, allowed="files: Parquet, Orc, Csv, Json, Text, Files", hint=hint)


def _paths(transformation: PhysicalTransformation, connector: FileConnector) -> Iterator[Problem]:
    for template in (template for path in connector.paths for template in _TEMPLATE.findall(path)):
        if found := _OF_THE_RUN.search(template):
            yield problem_at(
                transformation,
                f"its target '{connector.place}' depends on {found[1]}: each run has its own, so there is no "
                "previous version",
                allowed="a path that is the same in all runs; {{ params.x }} may be in it",
                hint="write to one path with mode='overwrite-partitions', or read the folder of an earlier run with "
                "from_source(…)",
            )
            return


def _sinks(
    transformation: PhysicalTransformation,
    connector: FileConnector,
    sinks: list[tuple[PhysicalTransformation, Connector]],
    pipeline: Pipeline,
) -> Iterator[Problem]:
    found = next(
        ((one, there) for one, there in sinks if is_its_target(transformation.operator, connector, there)), None
    )
    if found is None:
        places = [there.place for _, there in sinks if isinstance(there, FileConnector) and there.place]
        yield problem_at(
            transformation,
            f"no sink of this pipeline writes {connector.place}",
            allowed=f"a target of its sinks: {listing(places)}" if places else "a target that one of its sinks writes",
            hint=did_you_mean(connector.place or "", places)
            or "add .sink_to(…) with the same connector; from_source(…) reads what others write",
        )
        return
    sink, there = found
    if _form(connector) != _form(there):
        yield problem_at(
            transformation,
            f"it reads {connector.spark_format} with options that differ from those of its sink '{sink.name}'"
            if type(connector) is type(there)
            else f"it reads {connector.spark_format}, and its sink '{sink.name}' writes {_format(there)}",
            hint="pass the same connector to from_target(…) and sink_to(…)",
        )
    if isinstance(sink.operator, Sink) and sink.operator.mode is SinkMode.ERROR_IF_EXISTS:
        yield problem_at(
            transformation,
            f"the mode of its sink '{sink.name}' is 'error-if-exists': there is never a previous version",
            allowed=listing(mode for mode in SinkMode if mode is not SinkMode.ERROR_IF_EXISTS),
        )
    if isinstance(sink.operator, Sink) and sink.operator.single_file:
        yield problem_at(
            transformation,
            f"its sink '{sink.name}' writes one file, and a previous version is read from a folder",
            allowed="a sink without single_file=True",
            hint="let the sink write a folder, from_target(…) read that, and a second sink write the file",
        )
    if transformation.id not in _upstream(sink, pipeline):
        yield problem_at(
            sink,
            f"it may replace what '{transformation.name}' reads before that is read: its rows do not come from there",
            hint=f"let them come from it (a join or a union); or read {there.place} in a pipeline of its own, which "
            "runs before this one and writes its rows elsewhere",
        )


def _upstream(sink: PhysicalTransformation, pipeline: Pipeline) -> set[int]:
    by_id = {each.id: each for each in pipeline.transformations}
    found: set[int] = set()
    pending = list(sink.inputs)
    while pending:
        id = pending.pop()
        if id not in found:
            found.add(id)
            pending.extend(by_id[id].inputs)
    return found


def _format(connector: Connector) -> str:
    return connector.spark_format if isinstance(connector, FileConnector) else type(connector).__name__


def _form(connector: Connector) -> Connector:
    """Return a connector without what a source says about its columns."""
    plain = replace(connector, schema=None, on_schema_change=None)
    if isinstance(plain, RecordFiles):
        plain = replace(plain, on_misfit=None, rejects=None)
    return replace(plain, path=plain.place) if isinstance(plain, FileConnector) and plain.place else plain
