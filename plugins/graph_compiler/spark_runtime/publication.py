"""Publish what a sink wrote: all of it, once (DESIGN D15).

    prepare    rows are written beside the target, where no reader looks
    intend     put: these files will be added, these removed; from here on the outcome is decided
    publish    move the new files in, take the old ones away
    done       put

An execution that finds an intent without its done carries it out first; if another has published since, it takes back
what was begun. File names hold the execution's id, so doing a step again changes nothing.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.deployment.wire import Json, from_wire, to_wire
from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import OperatorId, path_segment
from graph_compiler.spark_runtime.commit_store import CommitStore, sync_folder
from graph_compiler.spark_runtime.data_files import written_partitions

_INTENT, _DONE = ".intent.json", ".done.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """A file to move from where it was prepared to the name it will have in the target."""

    prepared: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What one execution is about to do to a sink's target."""

    operator_id: OperatorId
    run_id: str
    execution_id: str
    target: str
    prepared: str
    add: tuple[PublishedFile, ...]
    remove: tuple[str, ...]
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Publishes the sinks of one execution."""

    spark: SparkSession
    store: CommitStore
    layout: StagingLayout
    execution_id: str

    def prepare(self, operator_id: OperatorId, target: str, rows: DataFrame) -> Intent:
        """Write the rows beside the target; nothing is visible yet. Raises PublicationError for an unusable target."""
        target_path = Path(target)
        if target_path.exists() and not target_path.is_dir():
            raise PublicationError(
                f"its target {target} is a file; allowed: a folder, or a path that does not exist"
            )
        prepared = (
            target_path.parent
            / f".{target_path.name}.graph_compiler"
            / path_segment(self.execution_id)
        )
        rows.write.parquet(str(prepared))
        partitions = written_partitions(self.spark, str(prepared), partitions=None)
        suffix = f"-{path_segment(self.execution_id)}.parquet"
        files = [(file, partition.index) for partition in partitions for file in partition.files]
        return Intent(
            operator_id=operator_id,
            run_id=self.layout.run_id,
            execution_id=self.execution_id,
            target=target,
            prepared=str(prepared),
            add=tuple(
                PublishedFile(prepared=file.name, name=f"part-{index:05}-{number:03}{suffix}")
                for number, (file, index) in enumerate(files)
            ),
            remove=tuple(sorted(_data_files(target_path))),
            rows=sum(file.rows for file, _ in files),
            bytes=sum(file.bytes for file, _ in files),
        )

    def publish(self, intent: Intent) -> None:
        """Record the intent and carry it out."""
        key = self.layout.intent(intent.operator_id, intent.execution_id)
        if not self.store.put_if_absent(key, json.dumps(to_wire(intent), indent=1).encode()):
            raise PublicationError(
                f"execution {intent.execution_id} has published {intent.target} before"
            )
        self._carry_out(intent)

    def finish_earlier(self, operator_id: OperatorId) -> None:
        """Settle what earlier executions of this run decided and did not finish."""
        keys = sorted(self.store.keys(self.layout.publications(operator_id)))
        for key in keys:
            if key.endswith(_INTENT) and key.removesuffix(_INTENT) + _DONE not in keys:
                content = self.store.get(key)
                assert content is not None, "intents are never deleted while their run lives"
                intent = from_wire(Intent, cast(Json, json.loads(content)))
                if _is_superseded(intent):
                    self._take_back(intent)
                else:
                    self._carry_out(intent)

    def _carry_out(self, intent: Intent) -> None:
        target, prepared = Path(intent.target), Path(intent.prepared)
        target.mkdir(parents=True, exist_ok=True)
        for file in intent.add:
            source = prepared / file.prepared
            if source.exists():  # else it was moved before
                source.rename(target / file.name)
        for name in intent.remove:
            (target / name).unlink(missing_ok=True)
        self._settle(intent)

    def _take_back(self, intent: Intent) -> None:
        for file in intent.add:
            Path(intent.target, file.name).unlink(missing_ok=True)
        self._settle(intent)

    def _settle(self, intent: Intent) -> None:
        prepared = Path(intent.prepared)
        sync_folder(Path(intent.target))
        shutil.rmtree(prepared, ignore_errors=True)
        if prepared.parent.is_dir() and not any(prepared.parent.iterdir()):
            prepared.parent.rmdir()
        self.store.put_if_absent(self.layout.done(intent.operator_id, intent.execution_id), b"{}")


def _is_superseded(intent: Intent) -> bool:
    """Say whether the target holds files this intent knows nothing of: somebody published after it."""
    known = {*intent.remove, *(file.name for file in intent.add)}
    return not known.issuperset(_data_files(Path(intent.target)))


def _data_files(target: Path) -> list[str]:
    """List what readers of the target see; Spark skips names that begin with `_` or `.`."""
    entries = target.iterdir() if target.is_dir() else ()
    return [entry.name for entry in entries if entry.is_file() and entry.name[0] not in "_."]
