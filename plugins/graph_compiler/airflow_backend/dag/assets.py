"""Sources and sinks as Airflow's assets: inlets and outlets of the task that runs them.

An event of an outlet means that its rows can be read, since tasks end after they have published. If a run's parameters
lead a sink to another place than the defaults do, there is no event for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow.sdk import Asset, AssetAll, AssetAny, Context
from airflow.sdk.bases.operator import BaseOperator

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.connectors.file_uris import place_uri
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.describe.templates import asset_uri, parameters_in
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.report import Output
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing


def inlets(
    regions: Sequence[RegionDescriptor], defaults: Mapping[str, ParameterValue], named: Iterable[Asset] = ()
) -> list[Asset]:
    """Return the assets of the regions' sources, each once; of `named`, those with their URIs."""
    return _distinct(asset for _, asset in _assets(regions, Source, defaults, named))


def outlets(
    regions: Sequence[RegionDescriptor], defaults: Mapping[str, ParameterValue], named: Iterable[Asset] = ()
) -> list[Asset]:
    """Return the assets of the regions' sinks, each once; of `named`, those with their URIs."""
    return _distinct(asset for _, asset in _assets(regions, Sink, defaults, named))


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A sink that has published, and its asset: None if the run published to another place, or it has no asset."""

    name: str
    asset: Asset | None


def published(
    regions: Sequence[RegionDescriptor],
    defaults: Mapping[str, ParameterValue],
    changed: Collection[str],
    named: Iterable[Asset] = (),
) -> tuple[Written, ...]:
    """Return the published sinks of a run in which these parameters have changed, in the order of publication."""
    assets = {operator.operator_id: asset for operator, asset in _assets(regions, Sink, defaults, named)}
    sinks = {
        operator.operator_id: operator
        for region in regions
        for operator in region.operators
        if isinstance(operator.operator, Sink)
    }
    published_first = [
        each.operator_id for region in regions for vertex in region.vertices for each in vertex.coordinators
    ]
    return tuple(
        Written(
            name=sinks[id].name,
            asset=assets.get(id) if parameters_in(_connector(sinks[id])).isdisjoint(changed) else None,
        )
        for id in published_first
        if id in sinks
    )


def describe_events(context: Context, written: Iterable[Written], outputs: Iterable[Output]) -> None:
    """Add rows, place and a table's commit to each event. Sinks with the same name are distinguished by their order."""
    left = list(written)
    for output in outputs:
        names = [each.name for each in left]
        if output.kind != "sink" or output.name not in names:
            continue
        asset = left.pop(names.index(output.name)).asset
        if asset is not None:
            event = context["outlet_events"][asset]
            commit = {} if output.commit is None else output.commit.to_json()
            event.extra |= {"rows": output.rows, "location": output.location, **commit}


def asset_at(place: str) -> Asset:
    """Return the asset of a path or URI in a schedule."""
    return Asset(place_uri(place))


def runs_without_end(schedule: object, tasks: Iterable[BaseOperator]) -> tuple[Problem, ...]:
    """Find a schedule for which assets that these tasks write are enough: each run would start the next one."""
    awaited = getattr(schedule, "asset_condition", schedule)
    written = {out.uri for task in tasks for out in task.outlets if isinstance(out, Asset)}
    if not _is_met(awaited, written):
        return ()
    own = sorted(written & {asset.uri for asset in assets_awaited(awaited)})
    return (
        Problem(
            key="schedule.assets",
            message=f"it waits for {listing(own)}, which it writes itself",
            hint="each run would start the next one: wait for what others write",
        ),
    )


def _is_met(awaited: object, written: Collection[str]) -> bool:
    """Whether a condition is met by these assets alone."""
    if isinstance(awaited, Asset):
        return awaited.uri in written
    parts = _parts(awaited)
    is_enough = any if isinstance(awaited, AssetAny) else all
    return bool(parts) and is_enough(_is_met(part, written) for part in parts)


def assets_awaited(schedule: object) -> Iterator[Asset]:
    """Yield the assets that a schedule names.

    They may have names of their own, and Airflow allows a URI only one: ours, whose name is the URI, would be inactive.
    """
    awaited = getattr(schedule, "asset_condition", schedule)
    if isinstance(awaited, Asset):
        yield awaited
    for part in _parts(awaited):
        yield from assets_awaited(part)


def _parts(awaited: object) -> Sequence[object]:
    if isinstance(awaited, AssetAll | AssetAny):
        return tuple(awaited.objects)
    return awaited if isinstance(awaited, list | tuple) else ()


def _assets(
    regions: Iterable[RegionDescriptor],
    kind: type[Source | Sink],
    defaults: Mapping[str, ParameterValue],
    named: Iterable[Asset],
) -> Iterator[tuple[OperatorDescriptor, Asset]]:
    known = {asset.uri: asset for asset in named}
    for operator in (operator for region in regions for operator in region.operators):
        if isinstance(operator.operator, kind):
            for connector in _connector(operator).each_place():
                if (uri := asset_uri(connector, defaults)) is not None:
                    ours = Asset(uri)  # its URI may be written differently
                    yield operator, known.get(ours.uri, ours)


def _connector(operator: OperatorDescriptor) -> Connector:
    assert isinstance(operator.operator, Source | Sink)
    return operator.operator.connector


def _distinct(assets: Iterable[Asset]) -> list[Asset]:
    return list({asset.uri: asset for asset in assets}.values())
