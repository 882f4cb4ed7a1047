"""The documents of one execution: the only module that reads and writes them.

    descriptor.json   what the task asks for
    submission.json   how spark-submit was called, and on which worker
    driver.json       which driver has claimed the execution: it is the region's turn
    progress.json     what the driver is doing; the only one that is overwritten
    report.json       how the driver ended
    kept.json         in place of a report: which earlier execution's work is kept
    outcome.json      how the task ended, or why its region was left out
    discarded.json    no later try keeps its work

`attempt.py` says what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.progress import VERSION as PROGRESS_VERSION
from graph_compiler.deployment.documents.progress import ExecutionProgress
from graph_compiler.deployment.documents.report import VERSION as REPORT_VERSION
from graph_compiler.deployment.documents.report import ExecutionReport, Outcome
from graph_compiler.deployment.documents.staging_layout import (
    DESCRIPTOR,
    DISCARDED,
    DRIVER,
    KEPT,
    OUTCOME,
    PROGRESS,
    REPORT,
    SUBMISSION,
    StagingLayout,
    execution_of,
    secrets_of,
)
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import Json, to_json
from graph_compiler.errors import DamagedDocumentError, OtherVersionError
from graph_compiler.identifiers import RegionId, name_of_segment, path_segment
from graph_compiler.staging.store.read_document import decode_object, get_document
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of

Document = TypeVar("Document")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptExecution:
    """Which execution of the region is kept: its id, its attempt number, and the Airflow try that has kept it."""

    execution_id: str
    attempt_number: int
    try_number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A document that exists but cannot be read."""

    reason: str


@dataclass(frozen=True, slots=True)
class AttemptDocuments:
    """The documents in the folder of an execution; each method asks the store.

    Readers return None if a document is missing. They raise DamagedDocumentError, and OtherVersionError for a document
    that has a version.
    """

    store: StagingStore
    folder: str

    @classmethod
    def of(cls, execution: TaskDeploymentDescriptor, store: StagingStore | None = None) -> AttemptDocuments:
        """Return those of an execution, by default in the store of its staging root."""
        id = execution.attempt.execution_id
        folder = execution.layout.execution(execution.region.region_id, id)
        return cls(store or store_of(execution.staging_root), folder)

    @classmethod
    def beside(cls, descriptor: str) -> AttemptDocuments:
        """Return those of the execution whose descriptor has a key."""
        return cls(store_of(descriptor), execution_of(descriptor))

    @property
    def name(self) -> str:
        """The id of the execution; its folder if the name of that was shortened."""
        return name_of_segment(self.folder.rpartition("/")[2]) or self.folder

    @property
    def descriptor(self) -> str:
        """The key of the descriptor, which is the argument of the driver."""
        return f"{self.folder}/{DESCRIPTOR}"

    @property
    def driver(self) -> str:
        """The key of the claim of its driver."""
        return f"{self.folder}/{DRIVER}"

    # What is there.

    def is_claimed(self) -> bool:
        """Whether a driver has begun with it."""
        return self.store.is_there(self.driver)

    def is_kept(self) -> bool:
        """Whether it kept the work of an earlier one."""
        return self.store.is_there(f"{self.folder}/{KEPT}")

    def is_discarded(self) -> bool:
        """Whether a person has discarded its work."""
        return self.store.is_there(f"{self.folder}/{DISCARDED}")

    def has_report(self) -> bool:
        """Whether its driver has left a report, readable or not."""
        return self.store.is_there(f"{self.folder}/{REPORT}")

    def has_outcome(self) -> bool:
        """Whether its task has left an outcome, readable or not."""
        return self.store.is_there(f"{self.folder}/{OUTCOME}")

    def is_answered(self) -> bool:
        """Whether its driver has done with it: it has a report, readable or not, or has kept earlier work."""
        return self.has_report() or self.is_kept()

    def began(self) -> float | None:
        """Return when its descriptor was written, in seconds since the epoch."""
        return self.store.written(self.descriptor)

    def claimed(self) -> float | None:
        """Return when its driver claimed it, None if none did."""
        return self.store.written(self.driver)

    def reported(self) -> float | None:
        """Return when its driver wrote the report, None if it did not."""
        return self.store.written(f"{self.folder}/{REPORT}")

    def last_sign(self) -> float | None:
        """Return the last time at which its task or its driver is known to have run, whatever became of them."""
        signs = (DESCRIPTOR, SUBMISSION, PROGRESS)
        times = (self.store.written(f"{self.folder}/{name}") for name in signs)
        return max((time for time in times if time is not None), default=None)

    # What it says.

    def read_descriptor(self) -> TaskDeploymentDescriptor | None:
        """Return the descriptor."""
        try:
            return self._read(DESCRIPTOR, TaskDeploymentDescriptor, DESCRIPTOR_VERSION)
        except DamagedDocumentError as error:
            raise error.hinting("clear its task: the next attempt leaves another") from None

    def read_raw_descriptor(self) -> dict[str, Json] | None:
        """Return the undecoded descriptor: in any version, it identifies the attempt."""
        content = self.store.get(self.descriptor)
        return None if content is None else decode_object(content, self.descriptor)

    def read_submission(self) -> Submission | None:
        """Return how it was submitted."""
        return self._read(SUBMISSION, Submission)

    def read_report(self) -> ExecutionReport | None:
        """Return the report of its own driver."""
        return self._read(REPORT, ExecutionReport, REPORT_VERSION)

    def read_outcome(self) -> Outcome | None:
        """Return how its task ended."""
        return self._read(OUTCOME, Outcome)

    def read_kept(self) -> KeptExecution | None:
        """Return what it kept, None if it has done its own work."""
        return self._read(KEPT, KeptExecution)

    def read_progress(self) -> ExecutionProgress | None:
        """Return the last progress; nothing depends on it, so that an unreadable document counts as missing."""
        try:
            return self._read(PROGRESS, ExecutionProgress, PROGRESS_VERSION)
        except (OSError, DamagedDocumentError, OtherVersionError):
            return None

    def done_by(self) -> AttemptDocuments:
        """Return those of the execution that has done the work: the kept one, or this one."""
        kept = self.read_kept()
        return self if kept is None else self.sibling(kept.execution_id)

    def sibling(self, execution_id: str) -> AttemptDocuments:
        """Return those of another execution of the same region."""
        return AttemptDocuments(self.store, f"{self.folder.rpartition('/')[0]}/{path_segment(execution_id)}")

    def of_region(self, layout: StagingLayout, region_id: RegionId) -> AttemptDocuments:
        """Return those of another region in the same try."""
        name = self.folder.rpartition("/")[2]
        return AttemptDocuments(self.store, f"{layout.executions(region_id)}/{name}")

    def _read(self, name: str, kind: type[Document], version: int | None = None) -> Document | None:
        return get_document(self.store, f"{self.folder}/{name}", kind, version=version)

    # Each is written once, and by one process; progress by one process.

    def put_submission(self, submission: Submission) -> None:
        """Write how it is submitted, in a file that only its owner can read."""
        self.store.put_if_absent(f"{self.folder}/{SUBMISSION}", to_json(submission).encode())

    def put_report(self, report: ExecutionReport) -> None:
        """Write how its driver ended."""
        self.store.put_if_absent(f"{self.folder}/{REPORT}", to_json(report).encode())

    def put_progress(self, progress: ExecutionProgress) -> None:
        """Replace its progress."""
        self.store.put(f"{self.folder}/{PROGRESS}", to_json(progress).encode())

    def put_outcome(self, outcome: Outcome) -> bool:
        """Write how its task ended; False if it has an outcome."""
        return self.store.put_if_absent(f"{self.folder}/{OUTCOME}", to_json(outcome).encode())

    def put_kept(self, kept: KeptExecution) -> None:
        """Write that it kept the work of an earlier one."""
        self.store.put_if_absent(f"{self.folder}/{KEPT}", to_json(kept).encode())

    def put_discarded(self) -> None:
        """Write that no later try keeps its work."""
        self.store.put_if_absent(f"{self.folder}/{DISCARDED}", b"{}")

    def delete_secrets(self) -> None:
        """Take the secrets away from a driver that has not started."""
        self.store.delete(secrets_of(self.descriptor))
