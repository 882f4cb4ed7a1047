"""What the routes share: permissions, sources of answers, and the form of answers."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunningError
from dataclasses import dataclass, field, replace
from threading import BoundedSemaphore, Thread
from typing import Annotated, NoReturn, TypeVar

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
from graph_compiler.airflow_backend.web.runs.dag_runs import RunWithTries, find_dag_run
from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import Json

# The API server's reads of the staging root: few at once, and no request waits forever.
#
#     request ─▶ one of RUNNING threads reads ─▶ answer
#             └▶ WAITING others may wait for a turn; more of them, and those that wait too long, get 503
#
# A disk that hangs blocks only the threads that read it: each read has a separate thread, which a request abandons
# after PATIENCE. While all these threads hang, requests do not wait, so that Airflow's own routes keep their threads.

Found = TypeVar("Found")

RUNNING = 4
"""The number of simultaneous reads in one process."""
WAITING = 12
"""The number of requests that may wait for a read; Airflow serves 40 at once in each process."""
PATIENCE = 10.0
"""The seconds that a request waits in total, for its turn and for its read."""


@dataclass(slots=True)
class StagingReads:
    """The reads of one process."""

    running: int = RUNNING
    waiting: int = WAITING
    patience: float = PATIENCE
    _turns: BoundedSemaphore = field(init=False)
    _places: BoundedSemaphore = field(init=False)
    _begun: dict[int, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Create the semaphores."""
        self._turns = BoundedSemaphore(self.running)
        self._places = BoundedSemaphore(self.running + self.waiting)

    def __call__(self, read: Callable[[], Found]) -> Found:
        """Return the result of the read, or raise its error; HTTPException 503 if the root does not respond."""
        if not self._places.acquire(blocking=False):
            raise _no_answer("too many requests read it")
        try:
            return self._read(read, time.monotonic() + self.patience)
        finally:
            self._places.release()

    def _read(self, read: Callable[[], Found], until: float) -> Found:
        is_hanging = len(self._hanging()) >= self.running
        if is_hanging or not self._turns.acquire(timeout=max(0.0, until - time.monotonic())):
            raise _no_answer("reads of it do not return")
        answer: Future[Found] = Future()
        Thread(target=self._run, args=(read, answer), name="staging-read", daemon=True).start()
        try:
            return answer.result(timeout=max(0.0, until - time.monotonic()))
        except StillRunningError:
            if answer.done():  # the read itself raised the error
                raise
            raise _no_answer("a read of it does not return") from None

    def _run(self, read: Callable[[], Found], answer: Future[Found]) -> None:
        self._begun[id(answer)] = time.monotonic()
        try:
            answer.set_result(read())
        except BaseException as error:
            answer.set_exception(error)
        finally:
            del self._begun[id(answer)]
            self._turns.release()

    def _hanging(self) -> list[float]:
        """Return the start times of the reads that a request has given up on."""
        now = time.monotonic()
        return [begun for begun in list(self._begun.values()) if now - begun > self.patience]


def _no_answer(why: str) -> HTTPException:
    return HTTPException(503, f"the staging root does not answer: {why}")


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
    dag_id: str, run_id: str, server: ServerDep, session: SessionDep, group: str = "", map_index: int = NOT_MAPPED
) -> AskedRun:
    """Find a run, also by task group or map index if the pipeline has one; 404 if it does not exist.

    Without a group, it is the first pipeline of the Dag; without a map index, the first instance of a mapped group.
    """
    found = find_dag_run(session, dag_id, run_id)
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
        method="GET", access_entity=entity, details=DagDetails(id=dag_id, team_name=team), user=user
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
