"""Two Dags with secrets in every place that takes one, and where a secret could appear."""

import json
from pathlib import Path

from tests.harness.postgres import Postgres

DAG_FILE = '''"""Two airflow dags with secrets in every place that takes one; the second one's password is wrong."""
from datetime import datetime

from graph_compiler import Jdbc, Parquet, Secret, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag


def orders(url, conn, name):
    options = {{"ApplicationName": Secret(conn, "app"), "password": Secret(conn, "password")}}
    env = StreamExecutionEnvironment(name, params={{"low": 0, "high": 100}})
    bounds = {{"lower_bound": "{{{{ params.low }}}}", "upper_bound": "{{{{ params.high }}}}", "num_partitions": 4}}
    login = {{"user": Secret(conn, "login"), "password": Secret(conn), "driver": "{driver}", "options": options}}
    source = Jdbc(url, table="orders", partition_column="id", **bounds, **login)
    rows = env.from_source(source, "orders")
    rows.sink_to(Jdbc(url, table="copy", **login), mode="append").name("copy")
    rows.select("id").sink_to(Parquet("{output}"), files=1).name("ids")
    return build_dag(env, schedule=None, start_date=datetime(2013, 1, 1), default_args={{"retries": 0}})


good = orders("{url}", "warehouse", "good")
bad = orders(Secret("broken", "url"), "broken", "bad")
'''


def connections(postgres: Postgres, wrong: str) -> dict[str, str]:
    """Return Airflow's connections of the two Dags, as variables."""
    login = {"conn_type": "postgres", "login": postgres.user}
    url = f"{postgres.url}?user={postgres.user}&password={wrong}"
    found = {
        "warehouse": {**login, "password": postgres.password, "extra": {"app": postgres.password}},
        "broken": {**login, "password": wrong, "extra": {"app": wrong, "url": url}},
    }
    return {f"AIRFLOW_CONN_{name.upper()}": json.dumps(each) for name, each in found.items()}


def arguments_of_all_processes() -> bytes:
    """Return what `ps` shows of every process of this host."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:  # it has ended
            continue
    return b"\n".join(found)


def files_with(text: str, folder: Path) -> list[str]:
    """Search all files below a folder: Airflow's home, event logs, output, what executors have written."""
    wanted = text.encode()
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if wanted in path.read_bytes()]
