"""Where the application of a slot sharing group is submitted, and with which of Spark's settings.

The first that says something wins: the group, the pipeline's options, the deployment's. The rest is left to the Airflow
connection.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.options.flink_options import with_flink_settings
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
    return with_flink_settings(own, compiled.options)
