"""The first rows of a staged result, where the installation shows rows, for those who may see them."""

from __future__ import annotations

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from fastapi import APIRouter, Depends
from fastapi.responses import Response

from graph_compiler.airflow_backend.web.routes.answers import ServerDep, answer, may_read, refuse
from graph_compiler.airflow_backend.web.rows.row_permission import requires_rows
from graph_compiler.airflow_backend.web.rows.row_sample import UNREADABLE, read_sample
from graph_compiler.airflow_backend.web.rows.staged_files import find_rows
from graph_compiler.airflow_backend.web.runs.dag_runs import find_run
from graph_compiler.errors import PartitionNotFoundError, StagingError
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.documents.view_answers import RowSample

_OFF = "no rows are shown here: setting [graph_compiler] row_samples is 0"
router = APIRouter()


@router.get(
    "/api/dags/{dag_id}/rows",
    dependencies=[may_read(DagAccessEntity.TASK_INSTANCE), Depends(requires_rows)],
)
def rows(dag_id: str, run_id: str, result: str, server: ServerDep, session: SessionDep) -> Response:
    """Give the first rows of a staged result's last committed epoch. No browser keeps them."""
    if server.settings.row_samples == 0:
        refuse(_OFF)
    if find_run(session, dag_id, run_id) is None:
        refuse(f"there is no run '{run_id}' of '{dag_id}'")
    layout, most = server.layout(dag_id, run_id), server.settings.row_samples

    def read() -> RowSample | None:
        found = find_rows(layout, result)
        return None if found is None else read_sample(found, most)

    try:
        sample = server.row_reads(read)
    except PartitionNotFoundError as error:
        refuse(str(error))
    except (*UNREADABLE, StagingError) as error:
        refuse(f"the rows cannot be read here: {error}")
    if sample is None:
        refuse(f"run '{run_id}' has committed no result '{result}' that this server can see")
    response = answer(plain_json(sample))
    response.headers["Cache-Control"] = "no-store"
    return response
