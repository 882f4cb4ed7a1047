"""Rows of staged results in Airflow's own application: off by default, and only for users who may see them."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.results.release import ReleasedResult
from graph_compiler.staging.store.local_store import LocalStore
from tests.airflow.staged_rows import RESULT, schema_of, stage_rows
from tests.airflow.web_server import API, application, client, make_database, start_run, store

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

SCRIPT = "<script>alert(1)</script>"
QUERY = f"run_id=manual__1&result={RESULT}"
ROWS, OF_RESULT = f"{API}/dags/sampled/rows?{QUERY}", f"{API}/dags/sampled/result?{QUERY}"
IMPORTED = """
import sys
import graph_compiler.airflow_backend.web.application
print("pyarrow" in sys.modules)
"""


def sampled() -> Any:
    from graph_compiler.airflow_backend import build_dag

    env = StreamExecutionEnvironment("sampled")
    env.from_source(Csv("/in"), "in").stage("dear").sink_to(Parquet("/out")).name("out")
    return build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))


@pytest.fixture(scope="module")
def app(airflow_home: Path) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "for these tests only: " + "x" * 64)
        patch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(airflow_home / "staging"))
        make_database()
        store(sampled())
        start_run("sampled", "manual__1")
        yield application()
        # Other modules count the Dags of this database.
        from airflow.api.common.delete_dag import delete_dag

        delete_dag("sampled")


@pytest.fixture
def show(app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes the view show so many rows of this test's staging root."""
    from starlette.routing import Mount

    from graph_compiler.airflow_backend.installation.settings import Settings
    from graph_compiler.airflow_backend.web.application import build_application

    (mount,) = [one for one in app.routes if isinstance(one, Mount) and one.path == "/graph-compiler"]

    def shown(rows: int) -> StagingLayout:
        settings = Settings(staging_root=str(tmp_path), row_samples=rows)
        monkeypatch.setattr(mount.app, "_application", build_application(settings))
        return StagingLayout(root=str(tmp_path), identity=RunIdentity.own("sampled", "manual__1"))

    return shown


@pytest.fixture
def layout(show: Any) -> StagingLayout:
    found: StagingLayout = show(2)
    table = pa.table({"n": pa.array([1, None, 3]), "s": pa.array([SCRIPT, "null", None])})
    stage_rows(found, schema_of(("n", "long"), ("s", "string")), [table])
    return found


@pytest.mark.usefixtures("layout")
def test_rows_require_permission_for_the_dag_and_for_rows(app: Any) -> None:
    roles = (None, "none", "viewer", "user", "op", "admin")
    found = [client(app, role).get(ROWS).status_code for role in roles]
    assert found == [401, 403, 403, 403, 200, 200]


@pytest.mark.usefixtures("layout")
def test_rows_have_a_separate_permission(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    asked = []

    def refuse(_: Any, *, method: str, resource_name: str, user: Any) -> bool:
        asked.append((method, resource_name, user.username))
        return False

    operator = client(app, "op", "olga")
    monkeypatch.setattr(SimpleAuthManager, "is_authorized_custom_view", refuse)
    answer = operator.get(ROWS)
    assert answer.status_code == 403
    assert answer.json()["detail"] == "you do not have permission to read 'Graph Compiler Row Samples'"
    assert asked == [("GET", "Graph Compiler Row Samples", "olga")]
    assert operator.get(OF_RESULT).json()["rows_are_shown"] is False


@pytest.mark.usefixtures("layout")
def test_rows_require_permission_for_their_dag(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    asked = []

    def refuse(_: Any, *, details: Any = None, access_entity: Any = None, **_more: Any) -> bool:
        asked.append((details.id, access_entity.value))
        return False

    admin = client(app, "admin")
    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", refuse)
    assert admin.get(ROWS).status_code == 403
    assert asked == [("sampled", "TASK_INSTANCE")]


@pytest.mark.usefixtures("layout")
def test_the_first_rows_are_text_and_not_cached(app: Any) -> None:
    answer = client(app, "op").get(ROWS)
    assert answer.json() == {
        "epoch": 0,
        "rows_in_result": 3,
        "columns": [{"name": "n", "type": "long", "nullable": True}, {"name": "s", "type": "string", "nullable": True}],
        "rows": [["1", SCRIPT], [None, "null"]],
        "notes": [],
    }
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.usefixtures("layout")
def test_a_result_says_whether_its_rows_are_shown_to_the_user(app: Any, show: Any) -> None:
    def said(role: str) -> Any:
        return client(app, role).get(OF_RESULT).json()["rows_are_shown"]

    assert [said(role) for role in ("viewer", "op")] == [False, True]
    show(0)
    assert [said(role) for role in ("viewer", "op")] == [False, False]


def test_rows_are_off_until_a_limit_is_set(app: Any, show: Any, layout: StagingLayout) -> None:
    from graph_compiler.airflow_backend.installation.settings import Settings

    assert Settings(staging_root=layout.root).row_samples == 0
    show(0)
    answer = client(app, "admin").get(ROWS)
    assert answer.status_code == 404
    assert answer.json()["detail"] == ("no rows are shown here: setting [graph_compiler] row_samples is 0")
    assert client(app, "viewer").get(ROWS).status_code == 403
    assert client(app).get(ROWS).status_code == 401


@pytest.mark.parametrize("number", ["-1", "201", "many"])
def test_the_setting_is_a_number_of_rows_that_a_page_holds(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    from airflow.exceptions import AirflowConfigException

    from graph_compiler.airflow_backend.installation.settings import read_settings

    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__ROW_SAMPLES", "200")
    assert read_settings().row_samples == 200
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__ROW_SAMPLES", number)
    with pytest.raises((ValueError, AirflowConfigException), match="row_samples"):
        read_settings()


def refusal(app: Any, path: str = ROWS) -> str:
    answer = client(app, "op").get(path)
    assert answer.status_code == 404
    return str(answer.json()["detail"])


def test_missing_results_are_404_with_a_message(app: Any, layout: StagingLayout) -> None:
    rows = f"{API}/dags/sampled/rows"
    assert refusal(app, f"{rows}?run_id=other&result={RESULT}") == ("there is no run 'other' of 'sampled'")
    assert "has committed no result '../../x'" in refusal(app, f"{rows}?run_id=manual__1&result=../../x")
    (file,) = Path(layout.run, "data").rglob("*.parquet")
    file.write_bytes(bytes(file.stat().st_size))
    assert "the rows cannot be read here: " in refusal(app)
    file.unlink()
    assert "no longer exists" in refusal(app)
    Path(layout.manifest(RESULT, 0)).write_text("{}")
    assert "the rows cannot be read here: " in refusal(app)


def test_a_released_result_names_its_last_reader(app: Any, layout: StagingLayout) -> None:
    record = ReleasedResult(result_id=RESULT, epoch=0, region_id=RegionId("out"), execution_id="e1", time=1.0, bytes=1)
    LocalStore().put_if_absent(layout.released(RESULT, 0), to_json(record).encode())
    assert "was released by its last consumer, 'out'" in refusal(app)


def test_looking_at_rows_changes_nothing(app: Any, layout: StagingLayout) -> None:
    def everything() -> dict[str, tuple[int, int]]:
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in Path(layout.root).rglob("*")}

    before = everything()
    assert client(app, "op").get(ROWS).status_code == 200
    assert everything() == before
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert client(app, "admin").request(method, ROWS).status_code == 405


@pytest.mark.usefixtures("layout")
def test_a_missing_pyarrow_is_reported(app: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "pip install 'pyarrow>=18'" in refusal(app)


def test_the_server_itself_never_imports_pyarrow() -> None:
    from graph_compiler import graph_compiler_plugin

    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        cwd=Path(graph_compiler_plugin.__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False"
