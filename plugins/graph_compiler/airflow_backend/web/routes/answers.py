"""What the routes share: permissions, sources of answers, and the form of answers."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from typing import Annotated, NoReturn

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models.dag import DagModel
from fastapi import Depends, HTTPException, Request
from fastapi.params import Depends as Dependency
from fastapi.responses import Response
from sqlalchemy.orm import Session

from graph_compiler.airflow_backend.dag.plan_document import of_group
from graph_compiler.airflow_backend.installation.settings import Settings
from graph_compiler.airflow_backend.run_identities import identity_of_page
from graph_compiler.airflow_backend.web.plans.dag_versions import PlanCard, PlanCards
from graph_compiler.airflow_backend.web.routes.staging_reads import StagingReads
from graph_compiler.airflow_backend.web.runs.dag_runs import RunWithTries, find_run
from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import Json

_MOST_BITS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What all requests share."""

    settings: Settings
    cards: PlanCards
    reads: StagingReads = field(default_factory=StagingReads)
    row_reads: StagingReads = field(default_factory=lambda: StagingReads(running=1, waiting=4))
    """Only one request at a time reads rows: a page may decompress to more than its file declares, up to 2 GB."""

    def layout(self, identity: RunIdentity) -> StagingLayout:
        """Return the paths of a run."""
        return StagingLayout(root=self.settings.staging_root, identity=identity)

    def card(self, session: Session, found: RunWithTries, group: str) -> PlanCard | None:
        """Return the card of the plan of a group in a run; None if it cannot be read."""
        if found.version is None:
            return None
        return of_group(self.cards.of(session, [found.version])[found.version], group)


def _server(request: Request) -> Server:
    server = request.app.state.server
    assert isinstance(server, Server)
    return server


ServerDep = Annotated[Server, Depends(_server)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRun:
    """The requested run; `found` is the Dag run in Airflow's database."""

    identity: RunIdentity
    found: RunWithTries
    card: PlanCard | None


def _requested_run(
    dag_id: str,
    run_id: str,
    server: ServerDep,
    session: SessionDep,
    group: str = "",
    map_index: int = NOT_MAPPED,
) -> AskedRun:
    """Find a run, also by task group or map index if the pipeline has one; 404 if it does not exist.

    Without a group, it is the first pipeline of the Dag; without a map index, the first instance of a mapped group.
    """
    found = find_run(session, dag_id, run_id)
    if found is None:
        refuse(f"there is no run '{run_id}' of '{dag_id}'")
    card = server.card(session, found, group)
    pipeline = card.pipeline if card else None
    group = card.group if card else group
    identity = identity_of_page(dag_id, run_id, pipeline, group=group, map_index=map_index)
    mapped = found.map_indexes(identity, card.tasks) if card else ()
    if map_index == NOT_MAPPED and mapped:
        identity = replace(identity, map_index=mapped[0])
    return AskedRun(identity=identity, found=found, card=card)


AskedRunDep = Annotated[AskedRun, Depends(_requested_run)]


def may_read(entity: DagAccessEntity) -> Dependency:
    """Require the right to read the path's Dag and this part of it; otherwise 401 or 403."""
    dependency: Dependency = Depends(requires_access_dag("GET", entity))
    return dependency


def may_also_read(user: BaseUser, dag_id: str, entity: DagAccessEntity, session: Session) -> bool:
    """Whether the user may also read this part of the Dag."""
    team = DagModel.get_team_name(dag_id, session=session)
    return get_auth_manager().is_authorized_dag(
        method="GET",
        access_entity=entity,
        details=DagDetails(id=dag_id, team_name=team),
        user=user,
    )


def refuse(words: str) -> NoReturn:
    """Answer 404 with a message."""
    raise HTTPException(404, words)


def answer(document: Json, known: str | None = None) -> Response:
    """Return a document, or only its ETag if the browser already has this version."""
    text = _json(document)
    # Python represents bytes of a file name that are not text as half a surrogate pair. UTF-8 cannot encode it, but
    # escaped it is valid JSON.
    body = text.encode(errors="backslashreplace")
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return answer_with(body, "application/json", tag, known)


def _json(document: Json) -> str:
    """Return a document as JSON that every browser can read; numbers that JSON does not have are null."""
    try:
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(document), separators=(",", ":"), ensure_ascii=False)


def _finite(document: Json) -> Json:
    if isinstance(document, dict):
        return {key: _finite(value) for key, value in document.items()}
    if isinstance(document, list):
        return [_finite(item) for item in document]
    if isinstance(document, float) and not math.isfinite(document):
        return None
    is_endless = isinstance(document, int) and document.bit_length() > _MOST_BITS
    return None if is_endless else document


def answer_with(body: bytes, media_type: str, tag: str, known: str | None) -> Response:
    """Return a body with its ETag; `known` is the browser's If-None-Match."""
    headers = {"ETag": tag}
    if known is not None and tag in known.replace("W/", "").split(", "):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)
