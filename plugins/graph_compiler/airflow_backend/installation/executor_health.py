"""What the executors of the Spark connection have: a separate program, which submits a short application.

python -m graph_compiler.airflow_backend.installation.executor_health   →   {"problem": null, "python": "3.11"}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.airflow_backend.task.submission.driver_environment import (
    PACKAGE,
    driver_environment,
    keep_driver_python,
)

APPLICATION = PACKAGE / "spark_runtime" / "executor_report.py"


def executor_health() -> Mapping[str, Any]:
    """Return the answer of the application, as a task of this deployment would run it."""
    settings = read_settings()
    with (
        TemporaryDirectory(dir=settings.staging_root, prefix=".doctor-") as shared,
        TemporaryDirectory(prefix="doctor-") as own,
    ):
        seen, answer = Path(shared, "seen"), Path(own, "answer.json")
        seen.write_text("seen\n" * 512)  # each task reads a part
        hook = SparkSubmitHook(
            conf=dict(settings.spark_conf),
            conn_id=settings.conn_id,
            name="graph_compiler.doctor",
            application_args=[settings.staging_root, str(seen), str(answer)],
        )
        keep_driver_python(hook)
        hook.submit(str(APPLICATION), env={**os.environ, **driver_environment(())})
        found: Mapping[str, Any] = json.loads(answer.read_text())
        return found


if __name__ == "__main__":
    print(json.dumps(executor_health()))
