"""The configuration of Flink 1.20: its defaults where ours may differ, and keys that are not supported here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.errors import Problem
from graph_compiler.options.model import PipelineOptions

FLINK_DEFAULTS: Mapping[str, str] = {
    "execution.runtime-mode": "STREAMING",
    "execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING",
    "jobmanager.scheduler": "AdaptiveBatch for a batch job",
    "execution.batch.adaptive.auto-parallelism.enabled": "true",
    "parallelism.default": "1",
    "pipeline.max-parallelism": "unset",
    "pipeline.operator-chaining.enabled": "true",
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism": "true",
    "pipeline.auto-generate-uids": "true",
    "pipeline.vertex-name-include-index-prefix": "false",
    "pipeline.vertex-description-mode": "TREE",
    "execution.checkpointing.interval": "unset",
    "state.backend.type": "hashmap",
    "execution.checkpointing.unaligned.enabled": "false",
    "execution.checkpointing.force": "false",
    "execution.savepoint.path": "unset",
    "execution.savepoint.ignore-unclaimed-state": "false",
    "restart-strategy.type": "none without checkpoints",
    "restart-strategy.fixed-delay.attempts": "1",
    "restart-strategy.fixed-delay.delay": "1 s",
    "restart-strategy.exponential-delay.attempts-before-reset-backoff": "2147483647",
    "restart-strategy.exponential-delay.initial-backoff": "1 s",
    "restart-strategy.exponential-delay.max-backoff": "1 min",
    "restart-strategy.exponential-delay.backoff-multiplier": "1.5",
    "restart-strategy.exponential-delay.reset-backoff-threshold": "1 h",
    "restart-strategy.exponential-delay.jitter-factor": "0.1",
    "restart-strategy.failure-rate.max-failures-per-interval": "1",
    "restart-strategy.failure-rate.failure-rate-interval": "1 min",
    "restart-strategy.failure-rate.delay": "1 s",
    "jobmanager.execution.attempts-history-size": "16",
    "execution.target": "unset",
    "pipeline.cached-files": "unset",
    "pipeline.jars": "unset",
    "pipeline.classpaths": "unset",
    "python.archives": "unset",
    "python.executable": "python",
    "python.client.executable": "python",
}
"""Flink's default for each of our keys that is also Flink's; other keys are only ours."""

_RESOURCES = (
    '.slot_sharing_group(SlotSharingGroup("big", executor_memory="8g", executor_cores=4, …)) says what a task is given'
)
_CLUSTER = "the cluster is Spark's: airflow.conn-id names its Airflow connection, and keys spark.… configure it"
_CHECKPOINTS = (
    "a batch job has no checkpoints; what a retry reads again is staged: .stage(reason), execution.batch-shuffle-mode. "
    "A stream commits each batch by itself, in a checkpoint below the staging root"
)
_STATE = (
    "rows between tasks, and checkpoints of streams, are in the staging root: [graph_compiler] staging_root, "
    "staging.ttl, staging.release. Where a stream's states are: state.backend.type"
)
_SPARK_SQL = "Spark plans SQL: set spark.sql.… among the options, or in a slot sharing group's conf"
_ADAPTIVE = "Spark's adaptive execution decides: spark.sql.adaptive.advisoryPartitionSizeInBytes among the options"
_AIRFLOW = "Airflow does that: its scheduler, its database, its web server"
_METRICS = (
    "metrics go to Airflow's StatsD or OpenTelemetry, and to each attempt's report.json; "
    "Spark's own are spark.metrics.… among the options"
)
_RESUMED = "a run continues from what its tasks have staged: `graph-compiler resume`, or clear tasks"
_LISTENERS = (
    "callbacks are Airflow's, in default_args= of build_dag; listeners are its plugins', or those of regions that a "
    "package registers in the group graph_compiler.listeners"
)
_CLIENT = "each task starts its Spark application itself; nothing of Flink's client is called"
_FILES = "env.add_files, env.add_jars, env.add_python_archive; pipeline.cached-files, pipeline.jars, python.archives"
_PACKAGES = "pipeline.jars, or spark.jars.packages among the options"
_PYTHON = "python.executable and python.archives; functions are in pipelines/, on PYTHONPATH, and their code travels"
_SHUFFLE = "Spark shuffles: spark.shuffle.… and spark.sql.shuffle.partitions among the options"

WITHOUT_MEANING: Mapping[str, str] = {
    "$internal.": "Flink sets it for itself",
    "akka.": _CLUSTER,
    "blob.": _CLUSTER,
    "classloader.": _PACKAGES,
    "client.": _CLUSTER,
    "cluster.": _CLUSTER,
    "containerized.": _CLUSTER,
    "env.": "spark.driver.extraJavaOptions and spark.executor.extraJavaOptions among the options",
    "compiler.": _SPARK_SQL,
    "events.": _METRICS,
    "execution.allow-client-job-configurations": _CLIENT,
    "execution.attached": "Airflow's task or triggerer waits for a driver; `graph-compiler submit -d` does not",
    "execution.batch.adaptive.auto-parallelism.": _ADAPTIVE,
    "execution.batch.job-recovery.": "a run continues from what its tasks have staged, as Airflow knows",
    "execution.batch.speculative.": "spark.speculation among the options",
    "execution.buffer-timeout": "rows are not buffered between tasks: they are staged, or stay in memory",
    "execution.buffer-timeout.": "rows are not buffered between tasks: they are staged, or stay in memory",
    "execution.checkpointing.": _CHECKPOINTS,
    "execution.job-listeners": _LISTENERS,
    "execution.job-status-changed-listeners": _LISTENERS,
    "execution.program-config.": _CLIENT,
    "execution.savepoint-restore-mode": _RESUMED,
    "execution.savepoint.": _RESUMED,
    "execution.shutdown-on-application-finish": "an Airflow task ends its whole Spark application",
    "execution.state-recovery.": _RESUMED,
    "execution.state-recovery.ignore-unclaimed-state": "it is written execution.savepoint.ignore-unclaimed-state",
    "execution.state-recovery.path": "it is written execution.savepoint.path",
    "execution.submit-failed-job-on-application-error": _CLIENT,
    "execution.shutdown-on-attached-exit": "an Airflow task ends its whole Spark application",
    "execution.sorted-inputs.": "Spark sorts where a join or an aggregation needs it",
    "external-resource.": _RESOURCES,
    "fine-grained.": _RESOURCES,
    "fs.": "spark.hadoop.fs.… among the options",
    "heartbeat.": "spark.executor.heartbeatInterval among the options",
    "high-availability": _AIRFLOW,
    "high-availability.": _AIRFLOW,
    "historyserver.": "graph-compiler history DAG RUN; spark.eventLog.… among the options for Spark's own",
    "gs.": "spark.hadoop.fs.gs.… among the options",
    "io.": "spark.local.dir among the options",
    "job-result-store.": _AIRFLOW,
    "job-event.": _AIRFLOW,
    "jobmanager.": _AIRFLOW,
    "jobmanager.execution.failover-strategy": "it is `region`, always: a retry repeats the unfinished work of one task",
    "jobmanager.memory.": 'SlotSharingGroup("big", driver_memory="4g") says what a driver is given',
    "jobmanager.partition.": "staging.release and staging.ttl say when staged results go",
    "jobstore.": _AIRFLOW,
    "kubernetes.": "spark.kubernetes.… among the options",
    "metrics.": _METRICS,
    "optimizer.": _SPARK_SQL,
    "oss.": "spark.hadoop.fs.oss.… among the options",
    "parallelism": "it is written parallelism.default",
    "pekko.": _CLUSTER,
    "pipeline.auto-watermark-interval": "the watermark of a stream moves between batches; a batch job has none",
    "pipeline.closure-cleaner-level": "functions are passed by name; nothing is pickled",
    "pipeline.default-kryo-serializers": "rows are Spark's; spark.serializer among the options",
    "pipeline.force-avro": "rows are Spark's; spark.serializer among the options",
    "pipeline.force-kryo": "rows are Spark's; spark.serializer among the options",
    "pipeline.generic-types": "rows are Spark's; spark.serializer among the options",
    "pipeline.global-job-parameters": 'StreamExecutionEnvironment("name", params={…}), or params: in YAML',
    "pipeline.jobvertex-parallelism-overrides": ".set_parallelism() of the operator",
    "pipeline.name": 'the name is the first argument: StreamExecutionEnvironment("name"), or name: in YAML',
    "pipeline.object-reuse": "rows are Spark's",
    "pipeline.operator-chaining": "it is written pipeline.operator-chaining.enabled",
    "pipeline.registered-kryo-types": "rows are Spark's; spark.serializer among the options",
    "pipeline.registered-pojo-types": "rows are Spark's",
    "pipeline.serialization-config": "rows are Spark's; spark.serializer among the options",
    "pipeline.watermark-alignment.": "a stream has one watermark, that of its slowest source; a batch job has none",
    "plugin.": _PACKAGES,
    "process.": _CLUSTER,
    "python.": _PYTHON,
    "python.files": "the code of functions travels by itself; pack other packages as python.archives",
    "python.requirements": "no packages are installed while tasks run: pack a virtual environment with venv-pack or "
    "conda-pack, and name it in python.archives and its Python in python.executable",
    "queryable-state.": "write to a sink, and read that",
    "resourcemanager.": _CLUSTER,
    "rest.": _AIRFLOW,
    "restart-strategy": "it is written restart-strategy.type",
    "s3.": "spark.hadoop.fs.s3a.… among the options",
    "scheduler-mode": "Spark adapts unset parallelism at run time",
    "security.": "Airflow's connection and Spark's spark.kerberos.… and spark.ssl.…",
    "slot.": _RESOURCES,
    "slotmanager.": _RESOURCES,
    "sql-client.": _SPARK_SQL,
    "sql-gateway.": _SPARK_SQL,
    "state.": _STATE,
    "table.": _SPARK_SQL,
    "table.local-time-zone": "a session's time zone is always UTC, so that rows are equal on every machine",
    "taskmanager.": _CLUSTER,
    "taskmanager.cpu.": _RESOURCES,
    "taskmanager.memory.": _RESOURCES,
    "taskmanager.network.": _SHUFFLE,
    "taskmanager.numberOfTaskSlots": _RESOURCES,
    "traces.": _METRICS,
    "user.artifacts.": _FILES,
    "web.": _AIRFLOW,
    "web.checkpoints.": _CHECKPOINTS,
    "web.exception-history-size": "jobmanager.execution.attempts-history-size: how many attempts `history` shows",
    "yarn.": "spark.yarn.… among the options; the queue is the Airflow connection's",
    "zookeeper.": _AIRFLOW,
}
"""What to use instead, by key; an entry that ends with a dot is the beginning of keys."""


def why_without_meaning(key: str) -> str | None:
    """Return what replaces a Flink key here, None if the key is not a known key of Flink."""
    if key in WITHOUT_MEANING:
        return WITHOUT_MEANING[key]
    beginnings = [known for known in WITHOUT_MEANING if known.endswith(".") and key.startswith(known)]
    return WITHOUT_MEANING[max(beginnings, key=len)] if beginnings else None


# Spark's settings that options under Flink's keys stand for.
#
# {"python.executable": "/opt/python3.11/bin/python"}   →   {"spark.pyspark.python": "/opt/python3.11/bin/python"}
# {"pipeline.classpaths": "/opt/jars/a.jar;/opt/jars/b.jar"}   →   spark.driver.extraClassPath and that of executors

PYTHON, DRIVER_PYTHON = "spark.pyspark.python", "spark.pyspark.driver.python"
CLASS_PATHS = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
CLASS_PATH_SEPARATOR = ":"
"""What is between two places of a Java class path, on the systems that Spark's clusters have."""


def with_flink_settings(settings: Mapping[str, str], options: PipelineOptions) -> dict[str, str]:
    """Return settings with those of Flink's keys, which win; a class path begins with them."""
    pythons = {PYTHON: options.python_executable, DRIVER_PYTHON: options.python_client_executable}
    found = {**settings, **{key: value for key, value in pythons.items() if value}}
    for key in CLASS_PATHS if options.classpaths else ():
        places = [str(local_path(entry)) for entry in _entries(options.classpaths or "")]
        found[key] = CLASS_PATH_SEPARATOR.join([*places, *filter(None, [settings.get(key)])])
    return dict(sorted(found.items()))


def class_path_problems(text: str) -> Iterator[Problem]:
    """Find places of a class path that are not the same on every host."""
    for entry in _entries(text):
        path = local_path(entry)
        if path is None or CLASS_PATH_SEPARATOR in str(path):
            yield Problem(
                message=f"option 'pipeline.classpaths' has {entry!r}",
                allowed="absolute paths and file: URIs, without ':' in the path",
                hint="they must be on every host; a jar in pipeline.jars travels",
            )


def _entries(text: str) -> list[str]:
    return [entry for part in text.split(";") if (entry := part.strip())]
