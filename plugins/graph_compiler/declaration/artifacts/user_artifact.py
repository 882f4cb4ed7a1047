"""A file that a pipeline names and Spark's executors need; Flink's user artifacts and user jars.

    data/rates.csv           →   UserArtifact(kind=FILE, name="rates.csv", path="/shop/data/rates.csv", version="9f86…")
    envs/pandas.tar.gz#env   →   UserArtifact(kind=ARCHIVE, name="env", path="/shop/envs/pandas.tar.gz", version="…")

Files and jars are part of what a pipeline computes: their version is a digest of their content. A Python environment is
not, as installed packages are not: its version is its size and time, so that it is not read whenever a Dag is parsed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.machinery import all_suffixes
from pathlib import Path

from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import PIPELINES, is_legal_name, shown

ARCHIVES = (".zip", ".jar", ".tar", ".tar.gz", ".tgz")
"""What Spark unpacks, by the ends of names; it copies any other file as it is."""
_OF_EXECUTORS = frozenset(
    {
        *("stdout", "stderr", "tmp", "container_tokens", "directory.info", "launch_container.sh"),
        *("__app__.jar", "pyspark.zip"),
    }
)
"""Files and folders that standalone workers and YARN keep in the folder of an executor or driver."""
_OF_SPARK = ("__spark_", "py4j-")
"""What names of files that Spark uploads to YARN begin with."""
_OURS = ("graph_compiler", "pyspark", "py4j", "pandas", "pyarrow", "numpy")
_PIECE = 1 << 20


class ArtifactKind(StrEnum):
    """How an artifact reaches a task: as a file, on the class path, or unpacked into a folder."""

    FILE = "file"
    JAR = "jar"
    ARCHIVE = "archive"


MOST_BYTES = {ArtifactKind.FILE: 64_000_000, ArtifactKind.JAR: 64_000_000, ArtifactKind.ARCHIVE: 1_000_000_000}
"""The size of an artifact: it is copied for each run, and files and jars are read whenever a Dag is parsed."""
_INSTEAD = {
    ArtifactKind.FILE: "read it as a source, or from a place that all hosts see",
    ArtifactKind.JAR: "put it on every host, and name it in option pipeline.classpaths",
    ArtifactKind.ARCHIVE: "put it in a place that all hosts see, and name it in Spark's setting spark.archives",
}


class ArtifactError(GraphCompilerError):
    """An artifact cannot be used: `allowed` is what would be, `hint` what to do."""

    def __init__(self, message: str, *, allowed: str | None = None, hint: str | None = None):
        super().__init__(message)
        self.allowed, self.hint = allowed, hint


@dataclass(frozen=True, slots=True, kw_only=True)
class UserArtifact:
    """A file of the host that submits: tasks find it under its `name`, an archive as a folder of that name.

    A copy of this `version` is kept for the run; `file_name` is the copy's name.
    """

    kind: ArtifactKind
    name: str
    path: str
    version: str

    @property
    def file_name(self) -> str:
        """Return the name, and for an archive also what says how it is packed.

        Names differ between the artifacts of a pipeline: two archives may have one size and time, and so one version.
        """
        ends = ARCHIVES if self.kind is ArtifactKind.ARCHIVE else ()
        return self.name + next((end for end in ends if self.path.endswith(end)), "")

    def content(self) -> bytes:
        """Read the file; raises ArtifactError if it is not of this version any more."""
        content = b"".join(_pieces(Path(self.path), self.kind))
        if self.kind is ArtifactKind.ARCHIVE:
            found = _stat_version(_status(Path(self.path), self.kind))
        else:
            found = hashlib.sha256(content).hexdigest()
        if found != self.version:
            raise ArtifactError(
                f"{self.path} was changed after the pipeline was loaded\n"
                "  hint: the next attempt takes it as it is then"
            )
        return content


def find_artifact(kind: ArtifactKind, path: Path, name: str) -> UserArtifact:
    """Return an artifact that can travel under this name; raises ArtifactError."""
    status = _status(path, kind)
    if not is_legal_name(path.name) or not is_legal_name(name):
        wrong = name if is_legal_name(path.name) else path.name
        raise ArtifactError(
            f"{shown(wrong)} cannot be the name of a file that travels",
            allowed="letters, digits, '_', '-' and '.'",
            hint="Spark separates files by ',' and names by '#', and takes both apart at spaces and '%'",
        )
    if reason := _why_taken(kind, name):
        raise ArtifactError(reason, hint="rename it")
    if kind is ArtifactKind.ARCHIVE:
        if not path.name.endswith(ARCHIVES):
            raise ArtifactError(f"{path} is not an archive that Spark unpacks", allowed=", ".join(ARCHIVES))
        version = _stat_version(status)
    else:
        version = _digest(str(path), kind, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return UserArtifact(kind=kind, name=name, path=str(path), version=version)


def _why_taken(kind: ArtifactKind, name: str) -> str | None:
    """Return why a name hides something: artifacts are in the folder of an executor, which is on Python's path."""
    if name.lower() in _OF_EXECUTORS or name.startswith(_OF_SPARK):
        return f"executors have a file '{name}' of their own"
    if kind is not ArtifactKind.ARCHIVE and name.endswith(tuple(all_suffixes())):
        return f"'{name}' is a Python module: the code of functions travels by itself"
    if kind is ArtifactKind.ARCHIVE and (name in sys.stdlib_module_names or name in _OURS):
        return f"a folder '{name}' would hide Python's module of that name on executors"
    return None


def _status(path: Path, kind: ArtifactKind) -> os.stat_result:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise ArtifactError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:  # denied; a loop of links; a zero byte
        raise ArtifactError(f"{shown(str(path))} cannot be read: {error}") from None
    if stat.S_ISDIR(status.st_mode):
        raise ArtifactError(f"{path} is a folder", allowed="a file", hint="pack it, and add it with add_python_archive")
    if not stat.S_ISREG(status.st_mode):  # a pipe would be read forever
        raise ArtifactError(f"{path} is neither a file nor a link to one", allowed="a file")
    if status.st_size > MOST_BYTES[kind]:
        raise _too_large(path, kind)
    return status


@lru_cache(maxsize=256)
def _digest(path: str, kind: ArtifactKind, _status: tuple[int, ...]) -> str:
    """Return the sha256 of a file; cached as long as its status is the same."""
    digest = hashlib.sha256()
    for piece in _pieces(Path(path), kind):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(path: Path, kind: ArtifactKind) -> Iterator[bytes]:
    left = MOST_BYTES[kind]
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                left -= len(piece)
                if left < 0:  # it has grown since it was looked at
                    raise _too_large(path, kind)
                yield piece
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error}") from None


def _stat_version(status: os.stat_result) -> str:
    return f"{status.st_size}-{status.st_mtime_ns}"


def _too_large(path: Path, kind: ArtifactKind) -> ArtifactError:
    return ArtifactError(
        f"{path} has more than {MOST_BYTES[kind]:,} bytes; it would be copied for each run", hint=_INSTEAD[kind]
    )


YAML = ".yaml"
"""The suffix of pipelines' YAML files."""


def project_of(file: Path) -> Path:
    """Return the folder that contains pipelines/, or the outermost package of the file."""
    whole = file.resolve()
    for parent in whole.parents:
        if parent.name == PIPELINES:
            return parent.parent
    folder = whole.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder
