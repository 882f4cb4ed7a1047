"""What the executors of the Spark connection have: a separate program, which submits a short application.

python -m graph_compiler.airflow_backend.installation.executor_health   →   {"problem": null, "python": "3.11"}
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.airflow_backend.connection_access import open_stores, root_access
from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.airflow_backend.provider.host_facts import PACKAGE, driver_environment
from graph_compiler.airflow_backend.provider.preparation import kept_python
from graph_compiler.staging.store.stores import store_of

APPLICATION = PACKAGE / "spark_runtime" / "executor_report.py"


def executor_health() -> Mapping[str, Any]:
    """Return the answer of the application, as a task of this deployment would run it."""
    settings = read_settings()
    open_stores(settings.staging_root, settings.staging_conn_id)
    with _shared_file(settings.staging_root) as seen, TemporaryDirectory(prefix="doctor-") as own:
        answer = Path(own, "answer.json")
        access = root_access(settings.staging_root, settings.staging_conn_id)
        environment = {**driver_environment(()), **access.environment()}
        conf = dict(settings.spark_conf)
        hook = SparkSubmitHook(
            conf={**access.spark_settings(), **conf, **kept_python(conf, environment["PYSPARK_DRIVER_PYTHON"])},
            conn_id=settings.conn_id,
            name="graph_compiler.doctor",
            application_args=[settings.staging_root, seen, str(answer)],
        )
        hook.submit(str(APPLICATION), env={**os.environ, **environment})
        found: Mapping[str, Any] = json.loads(answer.read_text())
        return found


@contextmanager
def _shared_file(root: str) -> Iterator[str]:
    """Yield the key of a document below the staging root, of which each task reads a part, and delete it."""
    store, folder = store_of(root), f"{root}/.doctor-{uuid.uuid4().hex}"
    try:
        store.put_if_absent(f"{folder}/seen", b"seen\n" * 512)
        yield f"{folder}/seen"
    finally:
        store.delete(folder)


if __name__ == "__main__":
    print(json.dumps(executor_health()))
