"""The paths of a run below the staging root. The only module that joins these paths.

<root>/<pipeline>/<run>/                      <run> as `RunIdentity.run_folder` has it
    run.json                                  put by the run's first task: a worker that sees it also sees the run
    plans/<plan id>.json                      what each plan computes of which a task has run
    code/<sha256>.zip                         what executors on other hosts import, one for each version of the code
    code/<sha256>.py                          the program of drivers on other hosts
    files/<version>/<name>                    what a pipeline names: files, jars, archives of Python environments
    tasks/<region>/<execution id>/descriptor.json, submission.json, driver.json, report.json, outcome.json
    tasks/<region>/<execution id>/kept.json       in place of a report: which earlier execution's work is kept
    tasks/<region>/<execution id>/discarded.json  a person has discarded its work: no later try keeps it
    tasks/<region>/<execution id>/progress.json   overwritten, as states are; nothing else is
    tasks/<region>/<execution id>/prepared/<operator id>.json, <operator id>.removed.json
    tasks/<region>/<execution id>/secrets.json    for a driver on a host of YARN, which removes it when it starts
    tasks/<region>/order/<n>.json             the execution that started as the n-th
    states/<task>/<key>.json                  which application a later try follows, if Airflow cannot keep it (3.2)
    data/<data set id>/epoch-<e>-<execution id>/part-….parquet
    data/<operator id>-sink/<execution id>/   rows on their way to a table of Spark's catalog
    manifests/<data set id>/<e>.json          not with the data: if data are lost, the record stays
    released/<data set id>/<e>.json           its last consumer has removed the data
    damaged/<data set id>/<e>.json            a reader has found the data damaged: they count as lost
<root>/.targets/<digest of a sink's target>/  shared by all runs and pipelines that write it
    <n>.intent.json, <n>.done.json
    <k>.folded.json                           which numbers were batches of streams whose records are removed
<root>/.positions/<pipeline, as `RunIdentity.owner`>/<uid of a source>/     kept when runs are removed
    <n>.json                                  an increment, or a reset: the position's entries
    …/lists/<n>-<execution id>.json           the files of an increment
    <n>.end.json                              whose it is: its run is about to publish it, or it was given up
    …/sinks/<n>-<operator id>.begun.json, …/sinks/<n>-<operator id>.done.json
    …/sinks/<n>.<k>.reached.json              the sinks of a run's later plan, after k changes
    …/runs/<run>.json                         the number of a run's increment
    …/known/<n>.json                          all that was consumed before entry n, in one document
<root>/.streams/<pipeline, as `RunIdentity.owner`>/sources/<uid of a source>.json    its stream; kept like positions
<root>/.streams/<pipeline>/<stream>/checkpoint/                             Spark's: offsets, commits, state
    …/queries/<n>.json                        which queries have used it
    …/turns/<n>.json                          which executions have had it
    …/heartbeats/<n>.json                     the last sign of life of the execution with turn n
    …/stops/<n>.json                          asks it to end behind its batch
    …/origin.json                             the savepoint that it began with, if it did
<root>/.streams/<pipeline>/savepoints/<stream>-<batch>-<digits>/            copies of checkpoints, or at a place of
    savepoint.json, checkpoint/…              one's own; kept when a stream is reset
<root>/.trash/                                what `staging gc` is removing
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from graph_compiler.declaration.artifacts.user_artifact import UserArtifact
from graph_compiler.declaration.connectors.file_uris import places_with_stores, staging_place, why_no_staging
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.errors import StagingError
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId, TaskName, path_segment

DESCRIPTOR, SUBMISSION = "descriptor.json", "submission.json"
DRIVER, REPORT, OUTCOME = "driver.json", "report.json", "outcome.json"
KEPT, DISCARDED = "kept.json", "discarded.json"
PROGRESS, SECRETS = "progress.json", "secrets.json"
MARKER = "run.json"
TARGETS, TRASH, POSITIONS, STREAMS = ".targets", ".trash", ".positions", ".streams"
INTENT, DONE = ".intent.json", ".done.json"
ENDED = ".end.json"
PREPARED, REMOVED = "prepared", ".removed.json"
ORDER = "order"
TASKS = "tasks"
COPIES = "files"
"""The folder with the copies of files and jars that a pipeline names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingLayout:
    """Paths of one run. `root` is an absolute path or a URI, as `staging_root_at` returns it."""

    root: str
    identity: RunIdentity

    @property
    def runs(self) -> str:
        """Return the folder of all runs of the pipeline."""
        return runs_of(self.root, self.identity.pipeline)

    @property
    def run(self) -> str:
        """Return the folder of this run."""
        return f"{self.runs}/{self.identity.run_folder}"

    @property
    def tasks(self) -> str:
        """Return the folder of the documents of tasks, one folder for each region."""
        return f"{self.run}/{TASKS}"

    @property
    def results(self) -> str:
        """Return the folder of all data, one folder for each result or sink."""
        return f"{self.run}/data"

    def executions(self, region_id: RegionId) -> str:
        """Return the folder of a region's executions, one folder each."""
        return f"{self.tasks}/{path_segment(region_id)}"

    def order(self, region_id: RegionId) -> str:
        """Return the folder of the order in which a region's executions started."""
        return f"{self.executions(region_id)}/{ORDER}"

    def execution(self, region_id: RegionId, execution_id: str) -> str:
        """Return the folder of an execution's documents."""
        return f"{self.executions(region_id)}/{path_segment(execution_id)}"

    def task_state(self, task: TaskName, key: str) -> str:
        """Return the key of a value that a task keeps from try to try."""
        return f"{self.run}/states/{path_segment(task)}/{path_segment(key)}.json"

    @property
    def marker(self) -> str:
        """Return the key of the marker that the run's first task writes."""
        return f"{self.run}/{MARKER}"

    def plan(self, plan_id: str) -> str:
        """Return the key of a plan's record."""
        return f"{self.run}/plans/{plan_id}.json"

    def code(self, digest: str) -> str:
        """Return the key of an archive of code."""
        return f"{self.run}/code/{digest}.zip"

    def program(self, digest: str) -> str:
        """Return the key of the program of a driver on another host."""
        return f"{self.run}/code/{digest}.py"

    def artifact(self, artifact: UserArtifact) -> str:
        """Return the key of the copy of a file, jar or archive that a pipeline names."""
        return f"{self.run}/{COPIES}/{artifact.version}/{artifact.file_name}"

    def descriptor(self, region_id: RegionId, execution_id: str) -> str:
        """Return the path of the descriptor for Spark."""
        return f"{self.execution(region_id, execution_id)}/{DESCRIPTOR}"

    def data(self, result_id: IntermediateDataSetId, *, epoch: int, execution_id: str) -> str:
        """Return the folder for one epoch's data."""
        return f"{self.results}/{result_id}/epoch-{epoch}-{path_segment(execution_id)}"

    def manifests(self, result_id: IntermediateDataSetId) -> str:
        """Return the folder of a result's manifests."""
        return f"{self.run}/manifests/{result_id}"

    def manifest(self, result_id: IntermediateDataSetId, epoch: int) -> str:
        """Return the key of one epoch's manifest."""
        return f"{self.manifests(result_id)}/{epoch}.json"

    def released(self, result_id: IntermediateDataSetId, epoch: int) -> str:
        """Return the key of the record that an epoch's data was released."""
        return f"{self.run}/released/{result_id}/{epoch}.json"

    def damaged(self, result_id: IntermediateDataSetId, epoch: int) -> str:
        """Return the key of the record that an epoch's data was found damaged."""
        return f"{self.run}/damaged/{result_id}/{epoch}.json"

    def preparation(
        self, region_id: RegionId, execution_id: str, operator_id: OperatorId, ending: str = ".json"
    ) -> str:
        """Return the key of a sink's preparation; with REMOVED, of the record that it was removed."""
        return f"{self.execution(region_id, execution_id)}/{PREPARED}/{operator_id}{ending}"

    def prepared(self, operator_id: OperatorId, execution_id: str) -> str:
        """Return the folder for prepared rows of a sink whose target is not a folder."""
        return f"{self.results}/{operator_id}-sink/{path_segment(execution_id)}"

    def publications(self, target: str) -> str:
        """Return the folder of a target's publications."""
        return f"{self.root}/{TARGETS}/{hashlib.sha256(target.encode()).hexdigest()[:32]}"

    def intent(self, target: str, number: int) -> str:
        """Return the key of the intent of a target's `number`-th publication."""
        return f"{self.publications(target)}/{number}{INTENT}"

    def done(self, target: str, number: int) -> str:
        """Return the key of the record that an intent was carried out."""
        return f"{self.publications(target)}/{number}{DONE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionLayout:
    """Paths of one source's position. `owner` is `RunIdentity.owner`, `uid` the source's."""

    root: str
    owner: str
    uid: str

    @property
    def folder(self) -> str:
        """Return the folder of the entries."""
        return f"{positions_of(self.root, self.owner)}/{path_segment(self.uid)}"

    def entry(self, number: int) -> str:
        """Return the key of an entry."""
        return f"{self.folder}/{number}.json"

    def end(self, number: int) -> str:
        """Return the key of the record whose an increment is."""
        return f"{self.folder}/{number}{ENDED}"

    def listed(self, number: int, execution_id: str) -> str:
        """Return the key of the list of an increment's files."""
        return f"{self.folder}/lists/{number}-{path_segment(execution_id)}.json"

    def sink_begun(self, number: int, operator_id: OperatorId) -> str:
        """Return the key of the record that a sink is about to publish an increment."""
        return f"{self.folder}/sinks/{number}-{operator_id}.begun.json"

    def sink_done(self, number: int, operator_id: OperatorId) -> str:
        """Return the key of the record that it has."""
        return f"{self.folder}/sinks/{number}-{operator_id}.done.json"

    def reached(self, number: int, change: int) -> str:
        """Return the key of the sinks that an increment reaches since a change of the plan, from 1 on."""
        return f"{self.folder}/sinks/{number}.{change}.reached.json"

    def of_run(self, identity: RunIdentity) -> str:
        """Return the key of the number of a run's increment."""
        return f"{self.folder}/runs/{identity.run_folder}.json"

    @property
    def all_known(self) -> str:
        """Return the folder of the documents with all that was consumed."""
        return f"{self.folder}/known"

    def known(self, number: int) -> str:
        """Return the key of the document with all that was consumed before an entry."""
        return f"{self.all_known}/{number}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLayout:
    """Paths of the streams of a pipeline. `owner` is `RunIdentity.owner`."""

    root: str
    owner: str

    @property
    def folder(self) -> str:
        """Return the folder of all of them."""
        return streams_of(self.root, self.owner)

    @property
    def sources(self) -> str:
        """Return the folder of the records whose stream a source's is."""
        return f"{self.folder}/sources"

    def source(self, uid: str) -> str:
        """Return the key of the record whose stream a source's is."""
        return f"{self.sources}/{path_segment(uid)}.json"

    def stream(self, stream_id: str) -> str:
        """Return the folder of a stream."""
        return f"{self.folder}/{stream_id}"

    def checkpoint(self, stream_id: str) -> str:
        """Return the folder of Spark's checkpoint."""
        return f"{self.stream(stream_id)}/checkpoint"

    def queries(self, stream_id: str) -> str:
        """Return the folder of the records of queries."""
        return f"{self.stream(stream_id)}/queries"

    def noted(self, stream_id: str, uid: str) -> str:
        """Return the key of what is noted of a source of a stream, in its checkpoint: a savepoint has it, too."""
        return f"{self.checkpoint(stream_id)}/noted/{path_segment(uid)}.json"

    def turns(self, stream_id: str) -> str:
        """Return the folder of the records of drivers."""
        return f"{self.stream(stream_id)}/turns"

    def heartbeats(self, stream_id: str) -> str:
        """Return the folder of the signs of life of drivers."""
        return f"{self.stream(stream_id)}/heartbeats"

    def stops(self, stream_id: str) -> str:
        """Return the folder of what asks drivers to end."""
        return f"{self.stream(stream_id)}/stops"

    def origin(self, stream_id: str) -> str:
        """Return the key of the record of the savepoint that a stream began with."""
        return f"{self.stream(stream_id)}/origin.json"

    @property
    def savepoints(self) -> str:
        """Return the folder of the savepoints that have no place of their own."""
        return f"{self.folder}/savepoints"


def savepoint_in(place: str) -> str:
    """Return the key of the document of a savepoint."""
    return f"{place}/savepoint.json"


def checkpoint_in(place: str) -> str:
    """Return the folder of the files of a savepoint."""
    return f"{place}/checkpoint"


def streams_of(root: str, owner: str | None = None) -> str:
    """Return the folder of all streams, or of those of one pipeline."""
    return f"{root}/{STREAMS}" + ("" if owner is None else f"/{path_segment(owner)}")


def positions_of(root: str, owner: str | None = None) -> str:
    """Return the folder of all positions, or of those of one pipeline."""
    return f"{root}/{POSITIONS}" + ("" if owner is None else f"/{path_segment(owner)}")


def runs_of(root: str, pipeline: str) -> str:
    """Return the folder of all runs of a pipeline."""
    return f"{root}/{path_segment(pipeline)}"


def execution_of(descriptor: str) -> str:
    """Return the folder of a descriptor's execution."""
    return descriptor.removesuffix(f"/{DESCRIPTOR}")


def secrets_of(descriptor: str) -> str:
    """Return the key of the values that a descriptor's driver takes: an object of variables and values."""
    return f"{execution_of(descriptor)}/{SECRETS}"


def root_of(descriptor: str) -> str:
    """Return the staging root of a descriptor."""
    return descriptor.rsplit("/", 6)[0]


def staging_root_at(uri: str) -> str:
    """Return the normalized form of a staging root; raises StagingError for a place without a store."""
    place = staging_place(uri)
    if place is None:
        raise StagingError(f"staging root '{uri}': {why_no_staging(uri)}; allowed: {places_with_stores()}")
    return place
