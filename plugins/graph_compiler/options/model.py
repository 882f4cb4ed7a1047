"""Options under Flink's keys, as a pydantic model; docs/options.md is made from it.

`reader.py` reads them. A declaration carries the raw pairs: the driver, which imports it, has no pydantic.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from graph_compiler.declaration.connectors.file_uris import staging_place
from graph_compiler.declaration.operators.process_functions import StateBackendType
from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.declaration.retention import DEFAULT_TTL, HISTORY_SIZE, StagingRelease
from graph_compiler.declaration.windows import Flush
from graph_compiler.options.durations import Duration
from graph_compiler.options.modes import DescriptionMode, RestartStrategyType, RuntimeMode, Scheduler, ShuffleMode

MAX_PARALLELISM = 32768
CONTINUOUS_INTERVAL_MS = 10_000
"""The interval of a continuous stream that sets none: each look at a source costs a listing, or a request."""
MAX_RESTARTS = 1_000_000
"""Flink allows 2³¹ − 1; Airflow adds tries when a task is cleared, and its databases allow no more than this."""


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("allowed: a time zone of the IANA database, as Europe/Vienna")
    return name


def _savepoint(place: str | None) -> str | None:
    if place is not None and staging_place(place) is None:
        raise ValueError("allowed: an absolute path, or the URI of a folder in HDFS")
    return place


class PipelineOptions(BaseModel):
    """Every option a pipeline may set, with its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    runtime_mode: RuntimeMode = Field(
        default=RuntimeMode.BATCH,
        alias="execution.runtime-mode",
        description="Whether the pipeline ends by itself: docs/streaming.md.",
    )
    shuffle_mode: ShuffleMode = Field(
        default=ShuffleMode.AUTO,
        alias="execution.batch-shuffle-mode",
        description="Which exchanges are staged between two Spark applications.",
    )
    scheduler: Scheduler = Field(
        default=Scheduler.DEFAULT,
        alias="jobmanager.scheduler",
        description="AdaptiveBatch leaves parallelism that no operator sets undecided; "
        "a pipeline is deployed only where all of it is decided.",
    )
    auto_parallelism: bool = Field(
        default=True,
        alias="execution.batch.adaptive.auto-parallelism.enabled",
        description="Whether AdaptiveBatch leaves unset parallelism undecided.",
    )
    parallelism: int = Field(
        default=1,
        ge=1,
        le=MAX_PARALLELISM,
        alias="parallelism.default",
        description="Parallelism of operators that set none, in graphs. If it is set, Spark's exchanges begin with it, "
        "and adaptive execution joins their partitions (decision 8).",
    )
    max_parallelism: int | None = Field(
        default=None,
        ge=1,
        le=MAX_PARALLELISM,
        alias="pipeline.max-parallelism",
        description="Upper bound of every parallelism that is set, and of what Spark's exchanges begin with.",
    )
    chaining_enabled: bool = Field(
        default=True,
        alias="pipeline.operator-chaining.enabled",
        description="Whether neighboring operators become one job vertex.",
    )
    chaining_across_max_parallelism: bool = Field(
        default=True,
        alias="pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
        description="Whether operators with different maximum parallelism may become one job vertex.",
    )
    auto_generate_uids: bool = Field(
        default=True,
        alias="pipeline.auto-generate-uids",
        description="If false, an operator without uid and uid hash is refused.",
    )
    vertex_index_prefix: bool = Field(
        default=False,
        alias="pipeline.vertex-name-include-index-prefix",
        description="Whether the name of a job vertex begins with its number.",
    )
    description_mode: DescriptionMode = Field(
        default=DescriptionMode.TREE,
        alias="pipeline.vertex-description-mode",
        description="How plans show the operators of a job vertex.",
    )
    checkpointing_interval: int | None = Field(
        default=None,
        ge=10,
        alias="execution.checkpointing.interval",
        description="Milliseconds from the begin of a batch of a continuous stream to that of the next one; unset: "
        f"{CONTINUOUS_INTERVAL_MS:,}. Refused in pipelines that are not continuous.",
    )
    continuous: bool = Field(
        default=False,
        alias="execution.continuous",
        description="Whether the task of a stream runs until it is stopped (streaming.md#continuous); else each run "
        "publishes what has arrived, and ends.",
    )
    max_run_time: Duration = Field(
        default=timedelta(0),
        alias="execution.max-run-time",
        description="After how long a continuous stream ends behind its batch, and the next run continues; "
        "0: it does not end.",
    )
    flush: Flush = Field(
        default=Flush.NONE,
        alias="execution.flush",
        description="Which windows of a stream the end of a run completes although no later row has come: those that "
        "end with the run's data interval, or all (streaming.md#flush).",
    )
    state_backend: StateBackendType | None = Field(
        default=None,
        alias="state.backend.type",
        description="Where the states of a new stream are, for good: in the memory of executors, or on their disks, by "
        "RocksDB, where a savepoint can give them another number of partitions (streaming.md#state-backend). Unset: "
        "rocksdb for states of functions, else Spark's own setting, which is hashmap.",
    )
    unaligned_checkpoints: bool = Field(
        default=False,
        alias="execution.checkpointing.unaligned.enabled",
        description="Whether checkpoints overtake rows. Used in STREAMING graphs; no pipeline that sets it is "
        "deployed.",
    )
    force_checkpointing: bool = Field(
        default=False,
        alias="execution.checkpointing.force",
        description="Whether checkpoints may lose rows of an iteration. Used in STREAMING graphs; no pipeline that "
        "sets it is deployed.",
    )
    savepoint_path: Annotated[str | None, AfterValidator(_savepoint)] = Field(
        default=None,
        alias="execution.savepoint.path",
        description="The savepoint that the stream of a pipeline begins with: an absolute path, or a URI. Later runs "
        "continue the stream (streaming.md#savepoints).",
    )
    ignore_unclaimed_state: bool = Field(
        default=False,
        alias="execution.savepoint.ignore-unclaimed-state",
        description="Whether a pipeline may begin with a savepoint that has the state of operators which the pipeline "
        "does not have any more: it continues without it.",
    )
    restart_strategy: RestartStrategyType | None = Field(
        default=None,
        alias="restart-strategy.type",
        description="When a failed task is retried; unset leaves it to the Dag's retries.",
    )
    fixed_delay_attempts: int = Field(
        default=1,
        ge=0,
        le=MAX_RESTARTS,
        alias="restart-strategy.fixed-delay.attempts",
        description="Number of retries with a fixed delay.",
    )
    fixed_delay_delay: Duration = Field(
        default=timedelta(seconds=1), alias="restart-strategy.fixed-delay.delay", description="Delay before each retry."
    )
    exponential_delay_attempts: int = Field(
        default=MAX_RESTARTS,
        ge=0,
        le=MAX_RESTARTS,
        alias="restart-strategy.exponential-delay.attempts-before-reset-backoff",
        description="Number of retries until a time without a failure resets the count.",
    )
    exponential_delay_initial: Duration = Field(
        default=timedelta(seconds=1),
        gt=timedelta(0),
        alias="restart-strategy.exponential-delay.initial-backoff",
        description="Delay before the first retry.",
    )
    exponential_delay_maximum: Duration = Field(
        default=timedelta(minutes=1),
        gt=timedelta(0),
        alias="restart-strategy.exponential-delay.max-backoff",
        description="Longest delay.",
    )
    exponential_delay_multiplier: float = Field(
        default=1.5,
        gt=1,
        alias="restart-strategy.exponential-delay.backoff-multiplier",
        description="Factor from each delay to the next.",
    )
    exponential_delay_reset_threshold: Duration = Field(
        default=timedelta(hours=1),
        gt=timedelta(0),
        alias="restart-strategy.exponential-delay.reset-backoff-threshold",
        description="Time without a failure after which the delays start again from the first.",
    )
    exponential_delay_jitter: float = Field(
        default=0.1,
        ge=0,
        le=1,
        alias="restart-strategy.exponential-delay.jitter-factor",
        description="Share of a delay by which it is randomly longer or shorter, at most.",
    )
    failure_rate_failures: int = Field(
        default=1,
        ge=1,
        alias="restart-strategy.failure-rate.max-failures-per-interval",
        description="Number of failures within the interval that are retried.",
    )
    failure_rate_interval: Duration = Field(
        default=timedelta(minutes=1),
        gt=timedelta(0),
        alias="restart-strategy.failure-rate.failure-rate-interval",
        description="The interval.",
    )
    failure_rate_delay: Duration = Field(
        default=timedelta(seconds=1),
        alias="restart-strategy.failure-rate.delay",
        description="Delay before each retry.",
    )
    attempts_history_size: int = Field(
        default=HISTORY_SIZE,
        ge=1,
        alias="jobmanager.execution.attempts-history-size",
        description="How many earlier attempts at a region `graph-compiler history` shows; "
        "their documents stay until the run is removed.",
    )
    execution_target: str | None = Field(
        default=None,
        min_length=1,
        alias="execution.target",
        description="Where tasks run: local, standalone, yarn, kubernetes, or a target of another package; "
        "unset: found by the connection's master.",
    )
    deploy_mode: DeployMode | None = Field(
        default=None,
        alias="execution.deploy-mode",
        description="Where the driver runs; unset: what the Airflow connection says.",
    )
    deferrable: bool | None = Field(
        default=None,
        alias="execution.deferrable",
        description="Whether a task waits in Airflow's triggerer for a driver on a host of the cluster; "
        "unset: as `[operators] default_deferrable` says.",
    )
    task_sharing: bool = Field(
        default=True,
        alias="execution.task-sharing",
        description="Whether AUTO lets regions share a task if none of them has to wait for that.",
    )
    shared_results: bool = Field(
        default=True,
        alias="execution.shared-results",
        description="Whether what at least three reports of a task read may be computed once, and staged for them with "
        "the columns that they read.",
    )
    driver_tuning: bool = Field(
        default=True,
        alias="execution.driver-tuning",
        description="Whether drivers on a worker's host get settings for a faster start.",
    )
    class_archives: bool = Field(
        default=True,
        alias="execution.class-archives",
        description="Whether a task may start a process that makes a class archive for the next drivers on its host. "
        "Archives that are there are used.",
    )
    conn_id: str | None = Field(
        default=None,
        min_length=1,
        alias="airflow.conn-id",
        description="Airflow connection of the Spark cluster; unset: setting conn_id of the deployment.",
    )
    run_date_timezone: Annotated[str, AfterValidator(_zone)] = Field(
        default="UTC",
        alias="airflow.run-date-timezone",
        description="The time zone whose day `run_date` is, in runs under Airflow. `ds` is always a day in UTC.",
    )
    cached_files: str | None = Field(
        default=None,
        alias="pipeline.cached-files",
        description="Files that functions read, as name:NAME,path:PATH;…; `env.add_files` adds to it.",
    )
    jars: str | None = Field(
        default=None,
        alias="pipeline.jars",
        description="Jars on the class path of driver and executors, separated by ;. `env.add_jars` adds to it.",
    )
    classpaths: str | None = Field(
        default=None,
        alias="pipeline.classpaths",
        description="Absolute paths of jars and folders that are on every host, separated by ;.",
    )
    python_archives: str | None = Field(
        default=None,
        alias="python.archives",
        description="Archives that executors unpack, as PATH#FOLDER,…; `env.add_python_archive` adds to it.",
    )
    python_executable: str | None = Field(
        default=None,
        alias="python.executable",
        description="Python of the executors: its path on every host, or in an archive, as FOLDER/bin/python.",
    )
    python_client_executable: str | None = Field(
        default=None,
        alias="python.client.executable",
        description="Python of the driver; unset: that of the Airflow worker, in cluster mode that of the executors.",
    )
    strict_sources: bool = Field(
        default=True,
        alias="sources.strict",
        description="Whether sources check every record. false reads as before that, leniently, and will be removed in "
        "the version after 0.2.",
    )
    staging_release: StagingRelease = Field(
        default=StagingRelease.GC,
        alias="staging.release",
        description="What releases a staged result: its last consumer, or `graph-compiler staging gc`.",
    )
    staging_checksum: bool = Field(
        default=True,
        alias="staging.checksum",
        description="Whether staged results have a checksum if a copy may have to be compared with a lost one.",
    )
    staging_ttl: Duration = Field(
        default=timedelta(seconds=DEFAULT_TTL),
        gt=timedelta(0),
        alias="staging.ttl",
        description="How long after its last change `graph-compiler staging gc` treats a run as old.",
    )

    @property
    def interval_ms(self) -> int:
        """The interval of a continuous stream."""
        return self.checkpointing_interval or CONTINUOUS_INTERVAL_MS
