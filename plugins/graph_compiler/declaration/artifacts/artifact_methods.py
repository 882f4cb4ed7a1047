"""The calls of an environment that name files, jars and Python environments: PyFlink's, with `add_files` beside them.

env.add_files("data/rates.csv")                           SparkFiles.get("rates.csv") in functions
env.add_jars("lib/functions.jar")
env.add_python_archive("envs/pandas.tar.gz", "environment")   with option python.executable

Each adds to an option, as in PyFlink. No file is looked at before the pipeline is compiled: executors import the
module, too, and have no such file.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import NoReturn

from graph_compiler.declaration.artifacts.artifact_options import (
    ARCHIVES,
    CACHED_FILES,
    JARS,
    NO_ARTIFACTS,
    SEPARATORS,
    Artifacts,
    read_artifacts,
    why_not_written,
)
from graph_compiler.declaration.artifacts.user_artifact import project_of
from graph_compiler.declaration.call_checks import held_to_signature
from graph_compiler.declaration.locations import caller_location
from graph_compiler.errors import SourceLocation
from graph_compiler.identifiers import shown


class ArtifactMethods:
    """The part of an environment that collects the options which name artifacts."""

    _config: dict[str, str]
    _artifact_places: dict[tuple[str, str], SourceLocation | None]
    _declared_at: SourceLocation | None

    @held_to_signature
    def add_files(self, *paths: str | Path) -> None:
        """Let functions read files: `SparkFiles.get("rates.csv")` is the path of `rates.csv` in every task.

        A relative path starts at the folder that contains pipelines/. Flink: registerCachedFile.
        """
        for path in paths:
            text = self._text(CACHED_FILES, path)
            self._add(CACHED_FILES, f"name:{Path(text).name},path:{text}")

    @held_to_signature
    def add_jars(self, *paths: str | Path) -> None:
        """Put jars on the class path of the driver and of executors."""
        for path in paths:
            self._add(JARS, self._text(JARS, path))

    @held_to_signature
    def add_python_archive(self, archive_path: str | Path, target_dir: str | None = None) -> None:
        """Unpack an archive into a folder of each executor, named `target_dir` or like the archive.

        With a packed virtual environment (venv-pack, conda-pack), option python.executable names its Python:
        `environment/bin/python`.
        """
        text = self._text(ARCHIVES, archive_path)
        self._add(ARCHIVES, text if target_dir is None else f"{text}#{self._text(ARCHIVES, target_dir)}")

    @abstractmethod
    def refuse(self, message: str, *, allowed: str | None = None, hint: str | None = None) -> NoReturn:
        """Refuse a call."""

    def _artifacts(self) -> Artifacts:
        """Return what the options name; the disk is only looked at if they name something."""
        if not self._config.keys() & SEPARATORS.keys():
            return NO_ARTIFACTS
        return read_artifacts(self._config, self._project, self._artifact_places)

    @property
    def _project(self) -> Path:
        """Return the folder at which relative paths start."""
        return Path.cwd() if self._declared_at is None else project_of(Path(self._declared_at.file))

    def _text(self, key: str, path: str | Path) -> str:
        """Return a path for an option; one below the project is relative, so that hosts do not differ in it."""
        if not isinstance(path, str | Path) or not str(path).strip():
            self.refuse(f"there is {shown(path)} among its paths", allowed="a path")
        text, project = str(path), f"{self._project}/"
        if (reason := why_not_written(key, text)) is not None:
            self.refuse(reason, hint="rename the file or its folder")
        return text.removeprefix(project)

    def _add(self, key: str, entry: str) -> None:
        separator = SEPARATORS[key]
        named = self._config.get(key, "")
        self._config[key] = f"{named}{separator}{entry}" if named else entry
        self._artifact_places.setdefault((key, entry), caller_location())
