"""Inferred columns of files, kept from one run of a repeated command to the next, as long as no file changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pyspark.sql.types import StructType

from graph_compiler.declaration.connectors import Connector, FileConnector
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.jvm_settings import RESIDENT
from graph_compiler.deployment.documents.staging_layout import COPIES
from graph_compiler.deployment.documents.wire import Json, digest, to_wire
from graph_compiler.spark_runtime.connectors.missing_files import is_literal

_MOST_FILES = 1_000


@dataclass(frozen=True, slots=True)
class KeptSchemas:
    """Schemas in a file, by a digest of the connector, the settings of its session, and its files."""

    file: Path
    settings: Json

    @classmethod
    def of_repeated(
        cls, request: Path, task: TaskDeploymentDescriptor, environment: Mapping[str, str], *, from_all_lines: bool
    ) -> KeptSchemas | None:
        """Return those of a repeated command, beside its request; None if it is not repeated.

        A dry run infers columns from the first lines only.
        """
        if RESIDENT not in environment:
            return None
        settings = [from_all_lines, to_wire(task.region.session), environment.get("PYSPARK_SUBMIT_ARGS")]
        return cls(request.with_name(COPIES) / "schemas.json", settings)

    def of(self, connector: Connector, infer: Callable[[], StructType]) -> StructType:
        """Return the columns of a source: those that were inferred before, if they still hold."""
        if connector.schema is not None or not isinstance(connector, FileConnector):
            return infer()
        files = _files(connector)
        if files is None:
            return infer()
        key = digest([to_wire(connector), self.settings, files])
        known = self._read()
        if key not in known:
            known[key] = infer().json()
            self._write(known)
        return StructType.fromJson(json.loads(known[key]))

    def _read(self) -> dict[str, str]:
        return dict(json.loads(self.file.read_text())) if self.file.exists() else {}

    def _write(self, known: dict[str, str]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(".new")
        draft.write_text(json.dumps(known))
        draft.replace(self.file)


def _files(connector: FileConnector) -> list[Json] | None:
    """Return each file of a source on this host with its inode, size and time; None if they are not known here."""
    found: list[Json] = []
    for path in connector.paths:
        place = local_path(path)
        if place is None or not is_literal(path) or not Path(place).exists():
            return None
        for file in _below(Path(place)):
            if file.is_symlink() or len(found) == _MOST_FILES:  # what a link leads to is not looked through
                return None
            state = os.stat(file)
            found.append([str(file), state.st_ino, state.st_size, state.st_mtime_ns])
    return found


def _below(root: Path) -> list[Path]:
    """Return a file, or the files and links below a folder, of many only some: these are not kept."""
    if root.is_file():
        return [root]
    found = (each for each in root.rglob("*") if each.is_symlink() or each.is_file())
    return sorted(islice(found, _MOST_FILES + 1))
