"""The Dag of docs/lake.md that schedules maintenance, in a real Airflow, with a secret of its catalog."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.spark_runtime.connectors.lake.delta import SETTINGS
from tests.harness.postgres import PASSWORD, Postgres
from tests.lake.conftest import Lake

pytestmark = pytest.mark.lake
ROOT = Path(__file__).parents[2]
QUICK = {"spark.databricks.delta.snapshotPartitions": "1"}
PIPELINE = """
from graph_compiler import Csv, Delta, Iceberg, Secret, StreamExecutionEnvironment
env = StreamExecutionEnvironment("sales", config={settings!r})
rows = env.from_source(Csv("/in", schema="id INT, day STRING"), "rows")
rows.sink_to(Iceberg("{table}", catalog={catalog}), mode="append").name("sold").uid("sold")
rows.sink_to(Delta("{path}"), mode="append").name("files").uid("files")
"""
RUN = """
import runpy, sys
sys.exit(runpy.run_path(sys.argv[1])["dag"].test().state != "success")
"""


def documented_dag(project: Path) -> str:
    """Return the Dag of the documentation, for a project."""
    text = (ROOT / "docs" / "lake.md").read_text()
    (found,) = (code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "BashOperator(" in code)
    assert '"/srv/shop"' in found
    return str(found).replace("/srv/shop", str(project))


def test_a_dag_maintains_the_tables_of_a_pipeline(
    lake_in_postgres: Lake, catalog_server: Postgres, tmp_path: Path
) -> None:
    lake, delta, project = lake_in_postgres, f"{tmp_path}/orders", tmp_path / "shop"
    for folder in ("pipelines", "dags"):
        (project / folder).mkdir(parents=True)
    lake.create("id INT, day STRING")
    lake.spark.sql(f"CREATE TABLE delta.`{delta}` (id INT, day STRING) USING delta")
    tables = (f"{lake.name}.db.sold", f"delta.`{delta}`")
    for number in range(6):
        for table in tables:
            lake.spark.sql(f"INSERT INTO {table} VALUES ({number}, 'mon')")
    rows = lake.rows()
    properties = {**lake.catalog, "jdbc.password": "SECRET"}
    catalog = repr(properties).replace("'SECRET'", 'Secret("lake")')
    text = PIPELINE.format(settings={**SETTINGS, **QUICK}, table=tables[0], catalog=catalog, path=delta)
    (project / "pipelines" / "sales.py").write_text(text)
    (project / "dags" / "maintain.py").write_text(documented_dag(project))
    done = _tested(project, catalog_server)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout + done.stderr
    assert f"{tables[0]} (Iceberg)" in printed
    for words in ("branches: 0 removed", "compaction: 6 files before, 1 files after", "expiry: 0 snapshots removed"):
        assert words in printed
    assert f"{delta} (Delta Lake)" in printed
    assert printed.count("compaction: 6 files before, 1 files after") == 2
    assert "expiry: 0 files removed, 0 B removed" in printed
    assert catalog_server.password not in printed
    files = lake.spark.sql(f"SELECT file_path FROM {tables[0]}.files").collect()
    assert len(files) == 1
    assert lake.rows() == rows


def _tested(project: Path, server: Postgres) -> "subprocess.CompletedProcess[str]":
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_HOME", str(project / ".airflow"))
        patch.delenv(PASSWORD.variable, raising=False)
        patch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "generic", "password": server.password}))
        airflow = EmbeddedAirflow(project)
        airflow.prepare(project / "airflow.log")
        environment = airflow.child_environment()
        programs = project / "bin"
        programs.mkdir()
        # That of an environment may be a link, or name a Python by a path that is not there any more.
        (programs / "graph-compiler").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m graph_compiler "$@"\n')
        (programs / "graph-compiler").chmod(0o700)
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
        return subprocess.run(
            [sys.executable, "-c", RUN, str(project / "dags" / "maintain.py")],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
        )
