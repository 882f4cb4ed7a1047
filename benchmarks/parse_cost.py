"""What parsing a Dag file costs Airflow's Dag processor: ours compared with a hand-written one, and files of many.

Each round parses every file once, in a separate process, as the Dag processor does: forked from one that has loaded
the plugins and imported the modules of Airflow that the file names; parsed into a DagBag and serialized.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
BY_HAND = '''"""Two Spark applications, the second after the first."""
from datetime import datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, Param

with DAG(
    "by_hand",
    schedule="@daily",
    start_date=datetime(2013, 1, 1),
    catchup=False,
    max_active_runs=1,
    params={
        "input": Param("/data", type="string"),
        "output": Param("/out", type="string"),
        "late_after": Param(15, type="integer"),
    },
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10)},
) as dag:
    arguments = ["{{ ds }}", "{{ params.input }}", "{{ params.output }}", "{{ params.late_after }}"]
    first = SparkSubmitOperator(
        task_id="with_weather", application="/jobs/with_weather.py", application_args=arguments
    )
    second = SparkSubmitOperator(
        task_id="late_routes", application="/jobs/late_routes.py", application_args=arguments
    )
    first >> second
'''

MANY = '''"""{count} pipelines, each of two tasks."""
from airflow.sdk import DAG

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag, build_task_group


def env(number):
    env = StreamExecutionEnvironment(f"pipeline_{{number}}")
    orders = env.from_source(Csv("/data/orders", schema="customer BIGINT, amount DOUBLE"), "orders")
    customers = env.from_source(Csv("/data/customers", schema="customer BIGINT, country STRING"), "customers")
    joined = orders.filter("amount > 0").join(customers, on="customer").stage("for both")
    joined.key_by("country").aggregate(total="sum(amount)").sink_to(Parquet(f"/data/{{number}}/totals"))
    joined.key_by("customer").aggregate(n="count(*)").sink_to(Parquet(f"/data/{{number}}/counts"))
    return env


{each}
'''
EACH = {
    "pipelines in a file": """
for number in range({count}):
    globals()[f"dag_{number}"] = build_dag(env(number))
""",
    "task groups in a Dag": """
with DAG("groups", schedule=None) as dag:
    for number in range({count}):
        build_task_group(env(number))
""",
}
"""What a file of many has, by its words on the page."""
COUNTS = (50, 100, 200, 400)
_ROUNDS_OF_MANY = 3


@dataclass(frozen=True, slots=True)
class ParseCost:
    """Parse every file once in each round."""

    rounds: int

    def measure(self, most: int | None, orders: int, folder: Path) -> dict[str, Any]:
        """Return the CPU seconds of each file by round, and those of files of many, by their number."""
        del orders
        os.environ |= {
            "AIRFLOW_HOME": str(folder / "home"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT / "plugins"),
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        }
        by_hand = folder / "by_hand.py"
        by_hand.write_text(BY_HAND)
        files = {
            "by hand": by_hand,
            "dags/flights.py": PROJECT / "dags" / "flights.py",
            "dags/all_pipelines.py": PROJECT / "dags" / "all_pipelines.py",
        }
        seconds: dict[str, list[float]] = {label: [] for label in files}
        for round in range(min(self.rounds, most or self.rounds)):
            for label in files if round % 2 == 0 else reversed(files):
                seconds[label].append(_forked(partial(_processed, files[label])))
        return {"seconds": seconds, "many": {label: _of_many(label, folder, most) for label in EACH}}


def _of_many(label: str, folder: Path, most: int | None) -> dict[str, list[float]]:
    """Return the CPU seconds of files with more and more pipelines, by round."""
    seconds: dict[str, list[float]] = {str(count): [] for count in COUNTS[:most]}
    for _ in range(min(_ROUNDS_OF_MANY, most or _ROUNDS_OF_MANY)):
        for count, found in seconds.items():
            file = folder / f"many_{count}.py"
            file.write_text(MANY.format(count=count, each=EACH[label].replace("{count}", count)))
            found.append(_forked(partial(_processed, file)))
    return seconds


def _processed(file: Path) -> float:
    """Act as the Dag processor; return the CPU seconds of the process that it forks."""
    # Imported when called: the environment says where Airflow lives.
    from airflow.dag_processing import processor
    from airflow.listeners.listener import get_listener_manager
    from structlog import get_logger

    sys.argv = ["airflow", "dag-processor"]
    get_listener_manager()  # loads the plugins, as the processor's job does when it starts
    processor._pre_import_airflow_modules(str(file), get_logger())
    gc.freeze()  # as its manager does: else one collection of all that is imported may cost more than the file
    return _forked(partial(_parsed, file))


def _parsed(file: Path) -> float:
    """Parse and serialize a file; return the CPU seconds."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.dag_processing.processor import _serialize_dags
    from structlog import get_logger

    started = time.process_time()
    bag = DagBag(dag_folder=str(file), bundle_path=file.parent, load_op_links=False)
    _serialize_dags(bag, get_logger())
    spent = time.process_time() - started
    assert bag.dags
    assert not bag.import_errors, bag.import_errors
    return spent


def _forked(measure: Callable[[], float]) -> float:
    """Return the result of a call in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, repr(measure()).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return float(text)
