"""One run of a Dag without a scheduler, as `airflow dags test` does it, whose id is named after its date: a program.

python -m graph_compiler.airflow_backend.installation.dated_run DAG DATE NAMED_AFTER CONF

Airflow names a manual run after the time from which it may run, `run_after`. `airflow dags test` has no option for
that, and takes now; `DAG.test` has one.
"""

from __future__ import annotations

import gc
import json
import sys

if __name__ == "__main__":
    gc.disable()  # until all modules are loaded

from airflow.sdk.timezone import parse
from airflow.utils.cli import get_bagged_dag
from airflow.utils.providers_configuration_loader import providers_configuration_loaded
from airflow.utils.state import DagRunState

from graph_compiler.program_memory import modules_are_loaded


@providers_configuration_loaded
def run(dag_id: str, date: str, named_after: str, conf: str) -> None:
    """Run to completion; raises SystemExit if the run fails, AirflowException if there is no such Dag."""
    dag = get_bagged_dag(None, dag_id)
    modules_are_loaded()
    found = dag.test(logical_date=parse(date), run_after=parse(named_after), run_conf=json.loads(conf))
    if found.state == DagRunState.FAILED:
        raise SystemExit("DagRun failed")


if __name__ == "__main__":
    try:
        run(*sys.argv[1:])
    finally:
        gc.freeze()  # Python would take two seconds to collect all at the end
