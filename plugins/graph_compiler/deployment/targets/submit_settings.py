"""Where the application of a slot sharing group is submitted, and with which of Spark's settings.

The first that says something wins: the group, the pipeline's options, the deployment's. The rest is left to the Airflow
connection.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.declaration.resources.slot_sharing_group import DeployMode, SlotSharingGroup
from graph_compiler.deployment.documents.jvm_settings import INITIAL_PARTITIONS, MAX_PARALLELISM, SHUFFLE_PARTITIONS
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.options.flink_options import with_flink_settings
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.spark_settings import spark_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitSettings:
    """What is declared, None if nothing is; `conf` are the settings for all groups, which a group's own override."""

    target: str | None = None
    deploy_mode: DeployMode | None = None
    conn_id: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    tunes_driver: bool = True
    """Whether settings are added with which the driver's JVM starts faster."""
    makes_archives: bool = True
    """Whether a missing class archive is made in the background."""
    defers: bool | None = None
    """Whether tasks wait in Airflow's triggerer; None is what Airflow's own setting says."""


UNDECLARED = SubmitSettings()
_DEFAULT_PARALLELISM = str(PipelineOptions.model_fields["parallelism"].alias)


def submit_settings(compiled: CompiledPipeline, profile: SlotSharingGroup | None) -> SubmitSettings:
    """Return what a valid pipeline declares for the tasks of a group, None for those of a group without settings."""
    options, group = compiled.options, profile or SlotSharingGroup("")
    mode = group.deploy_mode or options.deploy_mode
    return SubmitSettings(
        target=group.target or options.execution_target,
        deploy_mode=DeployMode(mode) if mode else None,
        conn_id=group.conn_id or options.conn_id,
        conf=tuple(pipeline_settings(compiled).items()),
        tunes_driver=options.driver_tuning,
        makes_archives=options.class_archives,
        defers=options.deferrable,
    )


def pipeline_settings(compiled: CompiledPipeline) -> dict[str, str]:
    """Return Spark's settings for all applications of a pipeline."""
    own = spark_settings(compiled.pipeline.config, compiled.deployment_options)
    return with_flink_settings({**own, **_parallelism_settings(compiled)}, compiled.options)


def _parallelism_settings(compiled: CompiledPipeline) -> dict[str, str]:
    """Return the settings of Spark for `parallelism.default` and `pipeline.max-parallelism` (decision 8).

    Of the pipeline's options, then of the deployment's, the first that say something decide. Spark's own settings win
    over `parallelism.default` beside them.
    """
    deployment = dict(compiled.deployment_options.values)
    found: dict[str, str] = {}
    for options in (dict(compiled.pipeline.config), deployment):
        if SHUFFLE_PARTITIONS in options or INITIAL_PARTITIONS in options:
            break
        if _DEFAULT_PARALLELISM in options:
            # Set by the deployment, the initial number would win over the pipeline's option.
            keys = [SHUFFLE_PARTITIONS, *({INITIAL_PARTITIONS} & deployment.keys())]
            found = dict.fromkeys(keys, str(compiled.options.parallelism))
            break
    most = compiled.options.max_parallelism
    return found if most is None else {**found, MAX_PARALLELISM: str(most)}
