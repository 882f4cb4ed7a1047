"""Every error that this package raises deliberately, as one tree.

    GraphCompilerError
    ├── InvalidPipelineError        a declaration is refused; carries every Problem found
    │   └── IncompletePipelineError     calls were refused; carries the rest  [declaration]
    ├── FunctionNotImportableError  a function cannot reach the Spark side by name
    ├── UnknownCodeError            the code that a function reaches cannot be read  [declaration]
    ├── ArtifactError               a file that a pipeline names cannot travel  [declaration]
    ├── StepRefusedError            a step of a YAML file cannot be declared  [projects]
    ├── CycleError                  a graph has a cycle, which it carries  [graphs]
    ├── OperatorNotFoundError       no operator, or more than one, has this name  [graphs]
    ├── IllegalTransitionError      an execution cannot go from its state to this one  [graphs]
    ├── CodeArchiveError            code cannot be packed for executors  [projects]
    ├── DescriptorError             a wire document cannot be read
    ├── ExtensionError              a connector or an operator of another package cannot be used here
    ├── RenderingError              a template needs a value of an Airflow run  [deployment]
    ├── StagingError                staged data cannot be committed or found
    │   ├── PartitionNotFoundError  a committed result is gone or damaged (Flink's noun)
    │   ├── UnreadableRowsError     rows of a staged result cannot be shown: reading them fails or takes too much
    │   ├── ConsumersMustRerunError     a lost result was recomputed, and tasks have finished from the lost copy
    │   ├── UpstreamMustRerunError  a task that this one reads from must run again first
    │   ├── StagingRootNotSharedError   a run's documents are not in this worker's staging root
    │   ├── DamagedDocumentError    a document below the staging root is not readable
    │   ├── OtherVersionError       a document below the staging root was written by another version of this program
    │   │   └── PackageNotInstalledError    it names a connector or an operator of a package that is not installed here
    │   ├── ExecutionClaimedError   another driver runs this execution
    │   ├── PositionError           a run cannot have its increment of a source  [staging]
    │   │   ├── PositionBusyError       another run is at work on the position; a retry may succeed  [staging]
    │   │   ├── PositionPendingError    the last increment is published in part: a person decides  [staging]
    │   │   └── IncrementSupersededError    what it has read was given to another run  [staging]
    │   ├── CheckpointError         a stream cannot continue its checkpoint  [staging]
    │   ├── CheckpointTakenError    a later driver has the checkpoint of a stream  [staging]
    │   ├── SupersededError         a later attempt has begun  [spark_runtime]
    │   ├── StaleReadError          what was read was recomputed  [spark_runtime]
    │   └── StaleResultError        a committed result was computed by another version of the pipeline
    ├── ExecutionNotFoundError      no such run, task or attempt in the staging root  [staging]
    ├── ConfigurationError          a setting of the deployment is refused; names where, and carries every Problem found
    ├── ParameterError              a run's parameter is not declared, or has a value of another type
    ├── InitializeOnMasterError     inputs or targets of a task are invalid; carries every Problem found
    ├── SecretError                 a secret cannot be passed to the driver, or has not reached it
    ├── SchemaChangedError          a source or a target has other columns than are expected
    ├── UnreadFilesError            there are files below a source's folder that would not be read
    ├── SourceChangedError          a source changed while it was read; a retry may succeed
    ├── RepeatedReadError           a source is read more than once, and its rows may differ each time
    ├── PublicationError            a sink's target cannot take what was written for it
    │   ├── PublicationPendingError     it was decided, but the system refuses a step: the next execution continues
    │   └── PublicationConflictError    another execution was first; a retry may succeed
    │       └── DecisionLostError       this was found before anything was decided
    ├── PreviousVersionError        the version of a target that a run must read, or has read, is not the last one
    ├── TableFormatError            a driver cannot use a table, or it has no such version  [spark_runtime]
    ├── KafkaError                  a driver cannot read topics of Kafka  [spark_runtime]
    ├── OperatorFailedError         an operator failed; its cause has the reason  [spark_runtime]
    ├── ExecutorNotPreparedError    an executor has no Python for a task's functions  [spark_runtime]
    ├── JvmNotPinnedError           a JVM has another zone, locale or charset  [spark_runtime]
    ├── SparkVersionError           a driver has another Spark than its plan, or its Python, needs  [spark_runtime]
    ├── ColumnsError                the columns of an operator's inputs do not fit it  [spark_runtime]
    ├── StateValueError             a function stores or returns a value that its type would change  [spark_runtime]
    ├── TimerError                  a function registers a timer that cannot be  [spark_runtime]
    ├── NotAQueryError              SQL text is a command or a script  [spark_runtime]
    ├── ContractViolatedError       rows violate a contract  [spark_runtime]
    ├── PlanTooLargeError           an executed plan is too large to read  [spark_runtime]
    ├── SameNameError               two columns of a row have the same name  [spark_runtime]
    ├── GivenRowsError              rows that a test gives do not fit their source  [spark_runtime]
    ├── SourcesError                a test gives rows for an unknown source, or none for a known one  [testing]
    ├── PipelineFailedError         a pipeline failed in a test; carries its failure  [testing]
    ├── NoBatchesError              a test looks at batches that no run had, or did not keep  [testing]
    ├── UnknownReasonError          a test expects a reason that does not exist  [testing]
    ├── BrokenPipelinesError        pipelines of a Dag folder cannot be loaded  [airflow_backend]
    ├── ExecutionTargetError        another target's master  [airflow_backend]
    ├── PageNotBuiltError           the page that shows plans was not built  [explain]
    ├── NotAskedError               a table cannot be asked without Spark  [lake_metadata]
    ├── UnreadDdlError              a schema has a form that only Spark can read  [lake_metadata]
    ├── DriverStartError            what a driver starts with is not known, or not usable  [driver_jvm]
    ├── VersionNotFoundError        a revision, or a file in it, does not exist  [cli]
    ├── VersionNotLoadableError     a version of a pipeline cannot be compiled  [cli]
    ├── NoAnswerError               Airflow's process has no answer to a question  [cli]
    ├── RunClientError              a request about a run was not carried out  [run_client]
    │   ├── AirflowUnreachableError     Airflow has not answered  [run_client]
    │   ├── AirflowRefusedError     Airflow refuses a request  [run_client]
    │   ├── RunNotFoundError        Airflow has no such Dag or run  [run_client]
    │   └── RunStateError           the run's state does not allow a request  [run_client]
    ├── RunningAlreadyError         the pipeline already runs in process for this day  [cli]
    ├── AirflowFailedError          Airflow itself could not be prepared  [cli]
    ├── DryRunFailedError           the analysis itself failed  [cli]
    ├── MaintenanceFailedError      the application that maintains tables has not answered  [cli]
    └── WatchError                  Spark cannot be kept for a command with --watch  [cli]

An error of one room is defined there; the drawing names its module. An impossible state is an AssertionError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph_compiler.identifiers import plain_line


@dataclass(frozen=True, slots=True, order=True)
class SourceLocation:
    """Where something was declared: a file and its 1-based line."""

    file: str
    line: int

    def __str__(self) -> str:
        """Return the form that editors and terminals make clickable."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem of a declaration, as it is reported to its author.

    `message` says what was found, `allowed` what is accepted, `hint` what to do; in YAML, `key` is `steps[2].filter`.
    """

    message: str
    operator: str | None = None
    declared_at: SourceLocation | None = None
    allowed: str | None = None
    hint: str | None = None
    key: str | None = None
    column: int | None = None  # where the key starts

    def __str__(self) -> str:
        """Render as one line, followed by an indented line for each further fact."""
        says_it = f".{self.operator}" in (self.key or "")
        place = ", ".join(filter(None, [None if says_it else self.operator, self.key]))
        lines = [f"{plain_line(place)}: {self.message}" if place else self.message]
        if self.allowed:
            lines.append(f"  allowed: {self.allowed}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        if self.declared_at:
            column = "" if self.column is None else f":{self.column}"
            lines.append(f"  declared at {self.declared_at}{column}")
        return "\n".join(lines)


class GraphCompilerError(Exception):
    """The root of all errors that this package raises deliberately."""


def _listed(what: str, problems: Sequence[Problem]) -> str:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [line for problem in problems for line in str(problem).splitlines()]
    return "\n  ".join([f"{what} has {count}", *lines])


class InvalidPipelineError(GraphCompilerError):
    """A pipeline's declaration is refused; `problems` has all its problems, in declaration order."""

    def __init__(self, pipeline: str, problems: Sequence[Problem]) -> None:
        assert problems, "a refusal needs a problem"
        self.pipeline = pipeline
        self.problems = tuple(problems)
        super().__init__(pipeline, self.problems)

    def __str__(self) -> str:
        """Return every problem below one headline."""
        return _listed(f"pipeline '{plain_line(self.pipeline)}'", self.problems)


class ConfigurationError(GraphCompilerError):
    """An option set by the deployment is refused; `origin` is the variable, or the file and key."""

    def __init__(self, origin: str, problems: Sequence[Problem]) -> None:
        assert problems, "a refusal needs a problem"
        self.origin = origin
        self.problems = tuple(problems)
        super().__init__(origin, self.problems)

    def __str__(self) -> str:
        """Return every problem below one headline."""
        return _listed(self.origin, self.problems)

    @property
    def summary(self) -> str:
        """Return all problems in one line, without what is allowed."""
        return f"{self.origin}: {'; '.join(problem.message for problem in self.problems)}"


class FunctionNotImportableError(GraphCompilerError):
    """The Spark side cannot import a function by its name."""

    def __init__(self, message: str, *, hint: str | None = None, allowed: str | None = None) -> None:
        super().__init__(message)
        self.hint, self.allowed = hint, allowed


class DescriptorError(GraphCompilerError):
    """A document that crosses between processes has the wrong form or version."""


class ExtensionError(GraphCompilerError):
    """A connector or an operator of another package is not registered here, or cannot be imported."""


class StagingError(GraphCompilerError):
    """Staged data cannot be committed, found or trusted."""


class PartitionNotFoundError(StagingError):
    """A committed result partition is missing or does not match its manifest."""


class UnreadableRowsError(StagingError):
    """Rows of a staged result cannot be shown: reading them fails, or exceeds its limits."""


class ConsumersMustRerunError(StagingError):
    """A lost result was recomputed after others had read it, and may differ from what they read."""


class UpstreamMustRerunError(StagingError):
    """A task that this one reads from has read a copy that is lost, and must run again first."""


class StagingRootNotSharedError(StagingError):
    """This worker does not see what other tasks of the run have written to the staging root."""


class DamagedDocumentError(StagingError):
    """A document is empty, truncated, of another kind, or too large: it cannot be read."""

    def __init__(self, path: str, why: str, hint: str | None = None) -> None:
        super().__init__(path, why, hint)
        self.path, self.why, self.hint = path, why, hint

    def __str__(self) -> str:
        """Return the document's path, its problem, and what to do."""
        return f"{self.path} {self.why}" + (f"\n  hint: {self.hint}" if self.hint else "")

    def hinting(self, hint: str) -> DamagedDocumentError:
        """Return the same error with a hint."""
        return DamagedDocumentError(self.path, self.why, hint)


class OtherVersionError(StagingError):
    """A document was written by another version of this program: it is refused, but not treated as damaged."""

    def __init__(self, path: str, why: str, otherwise: str | None = None) -> None:
        super().__init__(path, why, otherwise)
        self.path, self.why, self.otherwise = path, why, otherwise

    def __str__(self) -> str:
        """Return the document's path, and which version can read it."""
        words = (
            f"{self.path} was written by another version of graph_compiler: {self.why}\n"
            "  hint: use the version that wrote it; all workers and the API server need the same one"
        )
        return words + (f"\n  or {self.otherwise}" if self.otherwise else "")


class PackageNotInstalledError(OtherVersionError):
    """A document names a kind of a package that is not usable here; with that package installed, it can be read."""

    def __str__(self) -> str:
        """Return the document's path, what it names, and what to do."""
        return (
            f"{self.path} cannot be read here: {self.why}\n"
            "  hint: install it on all workers and the API server, or put its folder and its .dist-info on PYTHONPATH"
        )


class ExecutionClaimedError(StagingError):
    """Another driver runs this execution."""


class StaleResultError(StagingError):
    """A committed result does not match its reader's version of the pipeline: it changed between the two."""


class InitializeOnMasterError(GraphCompilerError):
    """The driver's checks before any data moves have failed; `problems` has all problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        assert problems, "a refusal needs a problem"
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        """Return every problem."""
        return "\n".join(str(problem) for problem in self.problems)


class SecretError(GraphCompilerError):
    """A secret has no value, or cannot reach the driver without being visible to others."""


class SchemaChangedError(GraphCompilerError):
    """Columns differ from those that a source or a sink expects; the message lists all of them."""


class UnreadFilesError(GraphCompilerError):
    """There are files below a source's folder, and Spark would leave them out without an error."""


class SourceChangedError(GraphCompilerError):
    """A source's files changed after they were listed: some of its rows may be old, and some new."""


class RepeatedReadError(GraphCompilerError):
    """A source is read more than once, and may have different rows each time: rows would be lost or doubled."""


class PublicationError(GraphCompilerError):
    """A sink's target cannot take the rows written for it."""


class PublicationPendingError(PublicationError):
    """A decided publication cannot be carried out yet: a full disk, a missing permission, a file in the way."""


class PublicationConflictError(PublicationError):
    """Another execution has published to the same target; this one has changed nothing, and may be retried."""


class DecisionLostError(PublicationConflictError):
    """Another execution decided first: what this one prepared is not published."""


class PreviousVersionError(GraphCompilerError):
    """The version of a target that a run must read is gone, or others have replaced the one that it has read."""


class ParameterError(GraphCompilerError):
    """A run's parameter is not declared, or its value has a different type than its default."""
