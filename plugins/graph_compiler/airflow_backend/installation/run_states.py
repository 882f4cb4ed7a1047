"""Airflow's word on runs, from its metadata database: a program of its own, so that who asks need not import Airflow.

python -m graph_compiler.airflow_backend.installation.run_states < '["dag", …]'   →   [["dag", "run id", "success"], …]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from airflow.configuration import conf
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from sqlalchemy import select
from sqlalchemy.engine import make_url


def run_states(dag_ids: Sequence[str]) -> list[tuple[str, str, str]]:
    """Give Dag id, run id and state of every run of some Dags; raises what the database raises."""
    url = make_url(conf.get("database", "sql_alchemy_conn"))
    if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):
        raise FileNotFoundError(
            f"there is no database {url.database}"
        )  # to ask would make an empty one
    wanted = select(DagRun.dag_id, DagRun.run_id, DagRun.state).where(DagRun.dag_id.in_(dag_ids))
    with create_session() as session:
        return [(dag_id, run_id, str(state)) for dag_id, run_id, state in session.execute(wanted)]


if __name__ == "__main__":
    print(json.dumps(run_states(json.load(sys.stdin))))
