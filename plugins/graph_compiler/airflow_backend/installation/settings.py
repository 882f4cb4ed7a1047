"""Settings of an installation, from Airflow's configuration: section `[graph_compiler]`.

AIRFLOW__GRAPH_COMPILER__STAGING_ROOT=/mnt/shared/staging
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from airflow.configuration import AIRFLOW_CONFIG, AIRFLOW_HOME, conf
from pydantic import BaseModel, ConfigDict, Field, field_validator

from graph_compiler.deployment.documents.staging_layout import staging_root_at
from graph_compiler.options.modes import NO_DEPLOYMENT_OPTIONS, DeploymentOptions
from graph_compiler.options.reader import parse_deployment_options
from graph_compiler.projects.airflow_configuration import SECTION, STAGING_FOLDER, origin_of

DEFAULT_CONN_ID = "spark_default"
MOST_ROWS = 200
"""The maximum number of rows of a result: more are of no use in a page."""


class Settings(BaseModel):
    """Every setting, with its default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    staging_root: str = Field(description="Where runs stage data; every worker must see it.")
    staging_conn_id: str | None = Field(
        default=None,
        description="Airflow connection of a staging root in S3 or HDFS; without it, the process's own identity.",
    )
    conn_id: str = Field(default=DEFAULT_CONN_ID, description="Airflow connection of the Spark cluster.")
    api_conn_id: str | None = Field(
        default=None,
        description="Airflow connection of Airflow's own API; with it, a task clears the tasks that must run again.",
    )
    history_server: str | None = Field(
        default=None, description="URL of Spark's history server as browsers reach it; the view links to it."
    )
    row_samples: int = Field(
        default=0,
        ge=0,
        le=MOST_ROWS,
        description="How many rows of a staged result the view shows to users who may see them; 0: none.",
    )
    spark_conf: dict[str, str] = Field(default={}, description="JSON object of spark-submit --conf pairs.")
    options: DeploymentOptions = Field(
        default=NO_DEPLOYMENT_OPTIONS,
        description="JSON object of options for all pipelines; a pipeline's own options override them.",
    )

    @field_validator("staging_root")
    @classmethod
    def _usable(cls, value: str) -> str:
        return staging_root_at(value)


def read_settings() -> Settings:
    """Read the section; raises StagingError, ConfigurationError or pydantic's ValidationError with the problem."""
    return Settings(
        staging_root=conf.get(SECTION, "staging_root", fallback=str(Path(AIRFLOW_HOME) / STAGING_FOLDER)),
        staging_conn_id=conf.get(SECTION, "staging_conn_id", fallback=None),
        conn_id=conf.get(SECTION, "conn_id", fallback=DEFAULT_CONN_ID),
        api_conn_id=conf.get(SECTION, "api_conn_id", fallback=None),
        history_server=conf.get(SECTION, "history_server", fallback=None),
        row_samples=conf.getint(SECTION, "row_samples", fallback=0),
        spark_conf=json.loads(conf.get(SECTION, "spark_conf", fallback="{}")),
        options=parse_deployment_options(
            conf.get(SECTION, "options", fallback="{}"), origin_of("options", Path(AIRFLOW_CONFIG), os.environ)
        ),
    )
