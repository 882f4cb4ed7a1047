"""The first rows of a staged result, for users who may see rows, if the installation shows them."""

from __future__ import annotations

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from fastapi import APIRouter, Depends
from fastapi.responses import Response

from graph_compiler.airflow_backend.web.routes.answers import AskedRunDep, ServerDep, answer, may_read, refuse
from graph_compiler.airflow_backend.web.rows.row_permission import requires_rows
from graph_compiler.airflow_backend.web.rows.row_sample import UNREADABLE, read_sample
from graph_compiler.airflow_backend.web.rows.staged_files import find_rows
from graph_compiler.errors import PartitionNotFoundError, StagingError
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.documents.view_answers import RowSample

_OFF = "no rows are shown here: setting [graph_compiler] row_samples is 0"
router = APIRouter()


@router.get("/api/dags/{dag_id}/rows", dependencies=[may_read(DagAccessEntity.TASK_INSTANCE), Depends(requires_rows)])
def rows(asked: AskedRunDep, result: str, server: ServerDep) -> Response:
    """Return the first rows of a staged result's last committed epoch. Browsers must not cache them."""
    if server.settings.row_samples == 0:
        refuse(_OFF)
    layout, most = server.layout(asked.identity), server.settings.row_samples

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
        refuse(f"run '{asked.identity.run_id}' has committed no result '{result}' that this server can see")
    response = answer(plain_json(sample))
    response.headers["Cache-Control"] = "no-store"
    return response
