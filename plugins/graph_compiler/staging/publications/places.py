"""Check the rendered places of a run's tasks, before any row is moved."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Self

import graph_compiler
from graph_compiler.declaration.call_checks import problems_at
from graph_compiler.declaration.connectors import Connector, FileConnector
from graph_compiler.declaration.connectors.file_uris import (
    is_pattern,
    local_path,
    parts_of,
    places_with_stores,
    why_no_target,
)
from graph_compiler.declaration.operators import PreviousVersion, Sink, Source
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import DamagedDocumentError, OtherVersionError, Problem, SourceLocation
from graph_compiler.identifiers import PIPELINES, RegionId
from graph_compiler.staging.attempts.attempts import last_descriptor
from graph_compiler.staging.publications.local_places import LocalPlace, as_glob
from graph_compiler.staging.store.stores import store_of
from graph_compiler.stores.known_stores import kind_by_any_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A rendered source or sink; `region_id` is None if it belongs to the task that is checked."""

    operator: OperatorDescriptor
    region_id: RegionId | None

    @property
    def words(self) -> str:
        """Return its name for a message."""
        of_task = "" if self.region_id is None else f" of region '{self.region_id}'"
        return f"'{self.operator.name}'{of_task}"


def endpoints_of(region: RegionDescriptor) -> tuple[Endpoint, ...]:
    """Return the sources and sinks of another task."""
    return tuple(
        Endpoint(operator=place, region_id=region.region_id)
        for operator in region.operators
        if isinstance(operator.operator, Source | Sink)
        for place in each_place(operator)
    )


def each_place(operator: OperatorDescriptor) -> tuple[OperatorDescriptor, ...]:
    """Return an operator once for each place of its connector."""
    end = operator.operator
    if not isinstance(end, Source | Sink) or len(end.connector.each_place()) == 1:
        return (operator,)
    return tuple(replace(operator, operator=replace(end, connector=place)) for place in end.connector.each_place())


def sources_of(region: RegionDescriptor) -> tuple[Endpoint, ...]:
    """Return only the sources: each sink is checked, so two sinks that overlap are reported once."""
    return tuple(end for end in endpoints_of(region) if isinstance(end.operator.operator, Source))


def recorded_endpoints(
    layout: StagingLayout, region: RegionDescriptor, others: Iterable[RegionId]
) -> tuple[Endpoint, ...]:
    """Return the places of the last attempts at other tasks of a run with the same plan as this task.

    A task of another plan may write elsewhere, and is cleared with the next deployment; unreadable ones are skipped.
    """
    found: list[Endpoint] = []
    for region_id in others:
        try:
            task = last_descriptor(store_of(layout.root), layout, region_id)
        except (DamagedDocumentError, OtherVersionError):
            continue
        if task is not None and task.region.plan_id == region.plan_id:
            found += endpoints_of(task.region)
    return tuple(found)


def find_place_problems(
    region: RegionDescriptor, *, others: Sequence[Endpoint] = (), folders: Sequence[OwnFolder] = ()
) -> tuple[Problem, ...]:
    """Return the problems of a region's rendered places.

    Targets we cannot publish to, targets that overlap another place of this task or of `others`, targets that no sink
    may overwrite (`folders`), and problems that only a rendered connector has (bounds that are no numbers).
    """
    operators = region.operators
    own = [Endpoint(operator=place, region_id=None) for operator in operators for place in each_place(operator)]
    problems = [
        problem
        for operator in operators
        for problem in (*_connector_problems(operator), *_sink_problems(operator, [*own, *others]))
    ]
    places = (SinkPlace.of(one.name, one.operator, one.declared_at) for one in operators)
    sinks = [place for place in places if place is not None]
    return (*problems, *find_own_folder_problems(sinks, folders))


def task_problems(
    task: TaskDeploymentDescriptor, *, others: Sequence[Endpoint] = (), folders: Sequence[OwnFolder] = ()
) -> tuple[Problem, ...]:
    """Return the problems of a task's places, also with the folders that are known on every worker."""
    declared = [operator.declared_at for operator in task.region.operators]
    known = own_folders(task.staging_root, declared)
    return find_place_problems(task.region, others=others, folders=(*known, *folders))


def _connector_problems(operator: OperatorDescriptor) -> Iterator[Problem]:
    if isinstance(operator.operator, Sink):
        yield from problems_at(operator, operator.operator)
    if isinstance(operator.operator, Source | Sink):
        yield from problems_at(operator, operator.operator.connector)
        yield from _paths_that_meet(operator, operator.operator.connector)


def _paths_that_meet(operator: OperatorDescriptor, connector: Connector) -> Iterator[Problem]:
    """Yield two paths of a source that are or contain one folder, though they are written differently: by a link."""
    for here, there in combinations(connector.each_place(), 2):
        if not here.meets(there) and _meet(here, there, is_read=True):
            yield Problem(
                operator=operator.name,
                message=f"its paths '{here.place}' and '{there.place}' are one folder, or one is in the other: rows "
                "would be read twice",
                allowed="paths that have no file in common",
                hint="leave out one of them",
                declared_at=operator.declared_at,
            )


def _sink_problems(sink: OperatorDescriptor, endpoints: Sequence[Endpoint]) -> Iterator[Problem]:
    if not isinstance(sink.operator, Sink):
        return
    connector = sink.operator.connector
    target = _path(connector)
    if isinstance(connector, FileConnector) and (wrong := why_no_target(connector.one_path)):
        yield Problem(
            operator=sink.name,
            message=f"its target is '{connector.one_path}': {wrong}",
            allowed=places_with_stores(),
            declared_at=sink.declared_at,
        )
        return
    said = set()
    for other in endpoints:
        there = other.operator.operator
        if other.operator is sink or not isinstance(there, Sink | Source):
            continue
        if isinstance(there, PreviousVersion) and _is_same(connector, there.connector):
            continue
        if _meet(connector, there.connector, is_read=isinstance(there, Source)):
            verb = "reads" if isinstance(there, Source) else "writes"
            place = _path(there.connector) or there.connector.place
            message = f"it {sink.operator.mode.verb} {target or connector.place}, and {other.words} {verb} {place}"
            if message not in said:
                yield Problem(
                    operator=sink.name,
                    message=message,
                    hint="give each its own folder, none inside another",
                    declared_at=sink.declared_at,
                )
            said.add(message)


def _meet(sink: Connector, other: Connector, *, is_read: bool) -> bool:
    """Whether a target overlaps another place: folders are compared on disk, other places by name."""
    in_store, also = _store_place(sink), _store_place(other)
    if in_store is not None and also is not None:
        return in_store.meets(also)
    target, there = _path(sink), _path(other)
    if target is None or there is None:
        return sink.meets(other)
    look = LocalPlace.matching if is_read else LocalPlace.at
    return LocalPlace.at(target).meets(look(there))


def _is_same(sink: Connector, other: Connector) -> bool:
    """Whether a source reads the previous version of exactly this target."""
    return sink.place_key() is not None and sink.place_key() == other.place_key()


def _path(connector: Connector) -> PurePosixPath | None:
    return local_path(connector.one_path) if isinstance(connector, FileConnector) else None


def _store_place(connector: Connector) -> StorePlace | None:
    return StorePlace.of(connector.one_path) if isinstance(connector, FileConnector) else None


# Folders that no sink may overwrite: the staging root, those of the project, and system folders.
#
# A sink replaces files, and creates a folder beside its target. If the target is or contains one of these folders, the
# first overwrite removes it; a target inside the staging root overwrites what other pipelines staged.


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFolder:
    """A folder, and its description. `takes_targets`: a target may be inside it, but must not be it or contain it."""

    path: str
    what: str
    takes_targets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkPlace:
    """A sink with its rendered path, and where it was declared."""

    name: str
    path: str
    declared_at: SourceLocation | None

    @classmethod
    def of(cls, name: str, operator: object, declared_at: SourceLocation | None) -> SinkPlace | None:
        """Return the place of a sink of files, None for anything else."""
        if not isinstance(operator, Sink) or not isinstance(operator.connector, FileConnector):
            return None
        return cls(name=name, path=operator.connector.one_path, declared_at=declared_at)


def own_folders(staging_root: str, declared: Iterable[SourceLocation | None] = ()) -> tuple[OwnFolder, ...]:
    """Return the folders that are known on every worker; `declared` are the locations of a task's operators."""
    files = dict.fromkeys(Path(place.file) for place in declared if place is not None)
    folders = dict.fromkeys(file.parent for file in files if file.is_absolute() and file.exists())
    packages = [parent for folder in folders for parent in (folder, *folder.parents) if parent.name == PIPELINES]
    return (
        OwnFolder(path=staging_root, what="the staging root"),
        OwnFolder(path=str(Path(graph_compiler.__file__).parent), what="graph_compiler itself"),
        *(OwnFolder(path=str(folder), what="the pipelines folder") for folder in packages),
        *(OwnFolder(path=str(folder), what="the folder it is declared in", takes_targets=True) for folder in folders),
        OwnFolder(path=str(Path.home()), what="a home folder", takes_targets=True),
        OwnFolder(path=tempfile.gettempdir(), what="the folder for temporary files", takes_targets=True),
        OwnFolder(path=sys.prefix, what="Python's folder", takes_targets=True),
    )


def find_own_folder_problems(sinks: Iterable[SinkPlace], folders: Sequence[OwnFolder]) -> Iterator[Problem]:
    """Find targets that are, contain, or are inside a folder that no sink may overwrite; one problem per sink."""
    known = [(folder, LocalPlace.at(path)) for folder in folders if (path := local_path(folder.path))]
    in_stores = [(folder, place) for folder in folders if (place := StorePlace.of(folder.path)) is not None]
    for sink in sinks:
        path = local_path(sink.path)
        target = None if path is None or ".." in path.parts else LocalPlace.at(path)
        words = [_words(target, folder, place) for folder, place in known] if target else []
        if (stored := StorePlace.of(sink.path)) is not None:
            words = [_words_in_store(stored, folder, place) for folder, place in in_stores]
        if found := next((one for one in words if one), None):
            yield Problem(
                operator=sink.name,
                message=f"its target {path or sink.path} {found}",
                allowed="a folder of its own",
                hint="a sink replaces files of its target, and prepares others beside it",
                declared_at=sink.declared_at,
            )


def _words(target: LocalPlace, folder: OwnFolder, place: LocalPlace) -> str | None:
    """Return how a target relates to a folder, as text, None if they do not overlap."""
    is_root = target.path == PurePosixPath("/")
    if target.contains(place):
        is_it = place.contains(target)
        verb = "is" if is_it and not is_root else "contains"
        return f"{verb} {folder.what}" + ("" if is_it else f", {folder.path}")
    lies_in = place.contains(target) and not folder.takes_targets
    return f"lies in {folder.what}, {folder.path}" if lies_in else None


def _words_in_store(target: StorePlace, folder: OwnFolder, place: StorePlace) -> str | None:
    """Return how a target in a store relates to a folder there, as text, None if they do not overlap."""
    if target.contains(place):
        return f"is {folder.what}" if target == place else f"contains {folder.what}, {folder.path}"
    return f"lies in {folder.what}, {folder.path}" if place.contains(target) else None


# Folders in stores: whether two are equal, or one contains the other.
#
# Names count as they are written: neither has links. A pattern that Spark reads overlaps with a folder if the
# folder's names match it, as far as both go; what is in the folder is not looked at.


@dataclass(frozen=True, slots=True)
class StorePlace:
    """A kind of store, a bucket or a host, and the names of a prefix in it, which may have wildcards."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, uri: str) -> Self | None:
        """Return the place of a URI, None if it is not in a store that sinks can publish to."""
        scheme, separator, _ = uri.partition("://")
        if not separator or (kind := kind_by_any_name(scheme)) is None:
            return None
        place = parts_of(kind, uri)
        names = [name for name in (place.authority, *place.names) if name]
        return cls((kind.scheme, *names)) if names else None

    def meets(self, other: StorePlace) -> bool:
        """Whether both are equal, or one contains the other."""
        return all(_fits(mine, theirs) for mine, theirs in zip(self.names, other.names, strict=False))

    def contains(self, other: StorePlace) -> bool:
        """Whether the other is this folder, or is inside it, at any depth."""
        return other.names[: len(self.names)] == self.names


def _fits(name: str, other: str) -> bool:
    return name == other or _matches(name, other) or _matches(other, name)


def _matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern of Hadoop."""
    return is_pattern(pattern) and fnmatchcase(name, as_glob(pattern))
