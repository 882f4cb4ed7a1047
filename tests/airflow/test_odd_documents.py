"""The view's routes answer whatever the staging root contains: their functions are called without HTTP."""

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.report import VERSION, ExecutionReport, Outcome, Output, VertexMetrics
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import to_json, to_wire
from graph_compiler.errors import StagingError, UnreadableRowsError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import JobVertexId, RegionId
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore
from tests.airflow.staged_rows import RESULT, schema_of, stage_rows

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([-1, 2**63, 10**400, "10" * 3_000])
    | st.floats()
    | st.text()
    | st.sampled_from(["..", "/", "\ud800", "javascript:alert(1)", "x" * 5_000])
)
ODD = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """Return the document with something exchanged, removed or added, at any depth."""
    if isinstance(document, dict) and document and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(document)))
        rest = {name: value for name, value in document.items() if name != key}
        changes = [lambda: rest, lambda: {**document, draw(st.text()): draw(ODD)}]
        inner: list[Callable[[], Any]] = [lambda: {**rest, key: draw(mutated(document[key]))}] * 6
        return draw(st.sampled_from([*changes, *inner]))()
    if isinstance(document, list) and document and draw(st.integers(0, 4)):
        at = draw(st.integers(0, len(document) - 1))
        return [*document[:at], draw(mutated(document[at])), *document[at + 1 :]]
    return draw(ODD)


def written(document: Any) -> bytes:
    return json.dumps(document).encode(errors="surrogatepass")


def a_root() -> StagingLayout:
    return StagingLayout(root=tempfile.mkdtemp(), identity=RunIdentity.own("p", "r"))


def in_this_process(wanted: Any) -> Any:
    """Read as the separate process does, a hundred times a second."""
    from graph_compiler.row_reader.pages import UNREADABLE
    from graph_compiler.row_reader.reading_process import rows_in

    try:
        return rows_in(replace(wanted, descriptors=tuple(map(os.dup, wanted.descriptors))))
    except UNREADABLE as error:
        raise UnreadableRowsError(str(error)) from error


def asked_for_a_result(layout: StagingLayout) -> None:
    """Call what /result and /rows call; raises the errors that they do not answer themselves."""
    from graph_compiler.airflow_backend.web.routes.answers import answer
    from graph_compiler.airflow_backend.web.rows.row_sample import UNREADABLE, read_sample
    from graph_compiler.airflow_backend.web.rows.staged_files import find_result, find_rows
    from graph_compiler.explain.documents.plain_json import plain_json

    with suppress(StagingError, OSError):
        json.loads(bytes(answer(plain_json(find_result(layout, RESULT, rows_are_shown=True))).body))
    with suppress(StagingError, *UNREADABLE):
        if (found := find_rows(layout, RESULT)) is not None:
            found_rows = read_sample(found, 5, in_this_process)
            json.loads(bytes(answer(plain_json(found_rows)).body))


def asked_for_a_run(layout: StagingLayout) -> Any:
    """Call what /run calls; return the document."""
    from graph_compiler.airflow_backend.web.routes.answers import answer
    from graph_compiler.airflow_backend.web.runs.attempts import read_documents
    from graph_compiler.airflow_backend.web.runs.dag_runs import Links, RunWithTries
    from graph_compiler.airflow_backend.web.runs.joined_run import joined_run
    from graph_compiler.explain.documents.plain_json import plain_json
    from graph_compiler.explain.documents.view_answers import RunSummary

    row = RunSummary(
        run_id="r",
        state="running",
        run_type="manual",
        logical_date=None,
        queued=None,
        started=None,
        ended=None,
        dag_version=1,
    )
    found = RunWithTries(run=row, version=None, tries=())
    documents = read_documents(layout)
    view = joined_run(layout.identity, found, None, {}, documents, Links(history_server="http://history"))

    def refuse(constant: str) -> None:
        raise AssertionError(f"browsers do not read {constant}")

    return json.loads(bytes(answer(plain_json(view)).body), parse_constant=refuse)


@given(st.data())
def test_odd_manifests_cause_no_server_error(data: st.DataObject) -> None:
    layout = a_root()
    manifest = stage_rows(layout, schema_of(("id", "long")), [pa.table({"id": [1, 2]})])
    path = Path(layout.manifest(RESULT, 0))
    document = json.loads(to_json(manifest))
    if data.draw(st.booleans()):
        odd = data.draw(mutated(document))
    else:  # the rest as it was: who refuses that does not look at the schema
        schema = data.draw(mutated(json.loads(manifest.schema)))
        odd = {**document, "schema": json.dumps(schema)}
    path.write_bytes(written(odd))
    asked_for_a_result(layout)


@given(st.binary())
def test_random_bytes_as_a_manifest_cause_no_server_error(content: bytes) -> None:
    layout = a_root()
    path = Path(layout.manifest(RESULT, 0))
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    asked_for_a_result(layout)


@pytest.mark.parametrize("content", ["[" * 200_000, '{"a":' * 200_000, "NaN", "1e999", "9" * 9_999])
def test_deep_nesting_and_huge_numbers_cause_no_server_error(content: str) -> None:
    layout = a_root()
    manifest = stage_rows(layout, schema_of(("id", "long")), [pa.table({"id": [1]})])
    for odd in (content, to_json(manifest).replace('"schema": "', f'"schema": {json.dumps(content)}, "x": "')):
        Path(layout.manifest(RESULT, 0)).write_text(odd)
        asked_for_a_result(layout)


@pytest.mark.parametrize("name", ["0x1.json", "٣.json", "1e9.json", "-1.json", "00.json", "1_0.json", "x", "9" * 200])
def test_only_epoch_file_names_count_as_epochs(tmp_path: Path, name: str) -> None:
    layout = StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))
    stage_rows(layout, schema_of(("id", "long")), [pa.table({"id": [1]})])
    Path(layout.manifests(RESULT), name).write_text("{}")
    log = ManifestLog(store=LocalStore(), layout=layout)
    assert log.epochs(RESULT) == (0,)
    assert log.latest(RESULT) is not None


DOCUMENTS: dict[str, Any] = {
    "descriptor": {"attempt": to_wire(ExecutionAttempt(execution_id="e0", attempt_number=0))},
    "submission": to_wire(Submission(command=(), shown="", environment=(), host="worker-1")),
    "outcome": to_wire(Outcome(state=ExecutionState.FAILED, ended=7.0, reason="broken")),
    "report": to_wire(
        ExecutionReport(
            version=VERSION,
            application_id="local-1",
            outputs=(Output(kind="staged", name="a", location="/x/y", rows=1, bytes=1),),
            contracts=(),
            vertices=(VertexMetrics(vertex_id=JobVertexId("v"), name="v", operators=(), seconds=1.0),),
            actions=(),
            reads=(),
            recomputed=(),
            failure=None,
        )
    ),
}


@given(st.data())
def test_odd_documents_of_an_attempt_cause_no_server_error(data: st.DataObject) -> None:
    layout = a_root()
    folder = Path(layout.descriptor(RegionId("out"), "e0")).parent
    folder.mkdir(parents=True)
    for name, document in DOCUMENTS.items():
        odd = data.draw(mutated(document)) if data.draw(st.booleans()) else document
        (folder / f"{name}.json").write_bytes(written(odd))
    asked_for_a_run(layout)


def test_a_fifo_in_place_of_any_document_does_not_block(tmp_path: Path) -> None:
    layout = StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))
    for name in DOCUMENTS:
        folder = Path(layout.descriptor(RegionId(f"of_{name}"), "e0")).parent
        folder.mkdir(parents=True)
        for other, document in DOCUMENTS.items():
            if other == name:
                os.mkfifo(folder / f"{name}.json")
            else:
                (folder / f"{other}.json").write_bytes(written(document))
    regions = {one["id"]: one["attempts"] for one in asked_for_a_run(layout)["regions"]}
    assert {name: len(attempts) for name, attempts in regions.items()} == {
        "of_descriptor": 0,
        "of_submission": 1,
        "of_outcome": 1,
        "of_report": 1,
    }
