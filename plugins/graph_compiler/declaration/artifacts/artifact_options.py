"""The options that name artifacts, under Flink's keys and in Flink's form.

pipeline.cached-files   name:rates.csv,path:data/rates.csv;name:codes,path:/data/codes.json
pipeline.jars           lib/functions.jar;file:///opt/jars/other.jar
python.archives         envs/pandas.tar.gz#environment,envs/models.zip

A relative path starts at the project's folder, in Python and in YAML: the folder that contains pipelines/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.declaration.artifacts.user_artifact import ArtifactError, ArtifactKind, UserArtifact, find_artifact
from graph_compiler.declaration.connectors.file_uris import RELATIVE, local_path, why_not_local
from graph_compiler.errors import Problem, SourceLocation
from graph_compiler.identifiers import shown

CACHED_FILES, JARS, ARCHIVES = "pipeline.cached-files", "pipeline.jars", "python.archives"
SEPARATORS: Mapping[str, str] = {CACHED_FILES: ";", JARS: ";", ARCHIVES: ","}
_KEYS = {ArtifactKind.FILE: CACHED_FILES, ArtifactKind.JAR: JARS, ArtifactKind.ARCHIVE: ARCHIVES}
_RESERVED: Mapping[str, str] = {CACHED_FILES: ",;", JARS: ";", ARCHIVES: ",#"}
_UNREAD = {CACHED_FILES: "spark.files", JARS: "spark.jars", ARCHIVES: "spark.archives"}
_FORM = "name:NAME,path:PATH"

Places = Mapping[tuple[str, str], SourceLocation | None]
"""Where an entry of an option was declared, by key and text; those of `config` have no place of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifacts:
    """The artifacts of a pipeline, and the problems of those that cannot be used."""

    found: tuple[UserArtifact, ...] = ()
    problems: tuple[Problem, ...] = ()


NO_ARTIFACTS = Artifacts()


def why_not_written(key: str, path: str) -> str | None:
    """Return why an option cannot hold a path, None if it can."""
    reserved = [character for character in _RESERVED[key] if character in path]
    return f"option '{key}' cannot hold a path with '{reserved[0]}'" if reserved else None


def read_artifacts(config: Mapping[str, str], project: Path, places: Places) -> Artifacts:
    """Find the artifacts that options name, each once, and all problems with them."""
    found: dict[UserArtifact, SourceLocation | None] = {}
    problems: list[Problem] = []
    for key in SEPARATORS:
        for entry in _entries(config.get(key, ""), SEPARATORS[key]):
            place = places.get((key, entry))
            try:
                found.setdefault(_artifact(key, entry, project), place)
            except ArtifactError as error:
                problems.append(
                    Problem(key=key, message=str(error), allowed=error.allowed, hint=error.hint, declared_at=place)
                )
    problems += _clashes(found)
    return Artifacts(found=tuple(found), problems=tuple(problems))


def _entries(text: str, separator: str) -> Iterator[str]:
    return (entry for part in text.split(separator) if (entry := part.strip()))


def _artifact(key: str, entry: str, project: Path) -> UserArtifact:
    if key == JARS:
        path = _path(key, entry, project)
        return find_artifact(ArtifactKind.JAR, path, path.name)
    if key == ARCHIVES:
        written, _, folder = entry.partition("#")
        path = _path(key, written, project)
        return find_artifact(ArtifactKind.ARCHIVE, path, folder or path.name)
    fields = dict(_field(field) for field in entry.split(","))
    if fields.keys() != {"name", "path"}:
        raise ArtifactError(f"there is {shown(entry)}", allowed=_FORM)
    path = _path(key, fields["path"], project)
    return find_artifact(ArtifactKind.FILE, path, fields["name"])


def _field(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name.strip(), value.strip()


def _path(key: str, written: str, project: Path) -> Path:
    if (reason := why_not_local(written)) not in (None, RELATIVE):
        raise ArtifactError(
            f"{shown(written)} is not a file of this host: {reason}",
            allowed="a path, or a file: URI",
            hint=f"Spark's setting {_UNREAD[key]} takes other URIs; what they name is not part of fingerprints",
        )
    local = local_path(written)
    return project / written if local is None else Path(local)


def _clashes(found: Mapping[UserArtifact, SourceLocation | None]) -> Iterator[Problem]:
    """Find artifacts of one name: Spark puts all of an application into one folder of each executor."""
    taken: dict[str, UserArtifact] = {}
    for artifact, place in found.items():
        # Some file systems ignore the case of letters.
        other = taken.setdefault(artifact.name.lower(), artifact)
        if other is not artifact:
            yield Problem(
                key=_KEYS[artifact.kind],
                message=f"{other.path} and {artifact.path} have the same name '{artifact.name}'",
                hint="rename one of them: Spark puts files, jars and archives into one folder",
                declared_at=place,
            )
