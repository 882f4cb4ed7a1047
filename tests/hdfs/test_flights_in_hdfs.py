"""The flights example with its staging root in HDFS: under Airflow, in process, and looked at afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess
from graph_compiler.webhdfs.webhdfs_client import WebHdfsClient
from tests.end_to_end.conftest import Home
from tests.harness.broken_wire import Wire
from tests.harness.hdfs_server import connection_at
from tests.harness.reference import assert_same_rows, expected, published, reports
from tests.harness.staging_in_stores import download, staging_variables, upload
from tests.harness.view_of_a_run import check_the_view

pytestmark = pytest.mark.hdfs

DAY = "2013-01-01"


@pytest.fixture
def environment(http: Wire, root: str, january: Path, tmp_path: Path) -> dict[str, str]:
    """Return the variables of a project whose staging root is in HDFS."""
    settings = {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    return Home(tmp_path / "airflow", data=january).environment(
        **staging_variables(root, connection_at(http.port)), AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps(settings)
    )


@pytest.fixture
def lake(place: str, access: HdfsAccess) -> HdfsStore:
    return HdfsStore(WebHdfsClient(place.removeprefix("hdfs://"), access))


@pytest.mark.parametrize("how", ["under_airflow", "in_process"])
def test_flights_are_right_with_a_staging_root_in_hdfs(
    how: str, environment: dict[str, str], lake: HdfsStore, rpc: Wire, january: Path, tmp_path: Path
) -> None:
    home, root = (Home(tmp_path / "airflow", data=january), environment["AIRFLOW__GRAPH_COMPILER__STAGING_ROOT"])
    given = [f"--param={name}={value}" for name, value in home.params.items()]
    in_process = ["--in-process"] if how == "in_process" else []
    # The driver's first writes are not answered: the run goes on, and what they wrote counts once.
    cuts = rpc.cuts
    rpc.breaks(behind=b"rename2", times=3)
    ran = home.cli("run", "flights", "--date", DAY, *given, *in_process, "--json", environment=environment)
    rpc.breaks(times=0)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert rpc.cuts == cuts + 3
    for name, query in reports(january).items():
        assert_same_rows(published(home.output / name), expected(query))

    run_id = json.loads(ran.stdout)["run_id"]
    layout = StagingLayout(root=root, identity=RunIdentity.own("flights", run_id))
    names = [file.key.removeprefix(f"{layout.run}/") for file in lake.files(layout.run)]
    assert sum(name.startswith("manifests/") for name in names) == 1

    history = home.cli("history", "flights", run_id, "--json", environment=environment)
    assert history.returncode == 0, history.stderr
    shown = home.cli("staging", "show", "flights", run_id, environment=environment)
    assert f"{root}/flights/" in shown.stdout
    if how == "under_airflow":
        check_the_view(home, environment, run_id)
    replayed = home.cli(
        *("replay", "flights", run_id, "late_routes", "--into", str(tmp_path / "replay"), "--json"),
        environment=environment,
    )
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)["report"]["failure"] is None

    kept = home.cli("staging", "gc", "--older-than", "1 h", "--json", environment=environment)
    assert kept.returncode == 0, kept.stderr
    assert list(lake.files(layout.run)), "it is younger than an hour"


def test_flights_are_read_from_and_published_to_hdfs(
    environment: dict[str, str], lake: HdfsStore, january: Path, tmp_path: Path
) -> None:
    home, root = (Home(tmp_path / "airflow", data=january), environment["AIRFLOW__GRAPH_COMPILER__STAGING_ROOT"])
    place = root.replace("flights", "both")
    upload(lake, january, f"{place}/in")
    given = [f"--param=input={place}/in", f"--param=output={place}/out"]
    ran = home.cli("run", "flights", "--date", DAY, *given, "--json", environment=environment)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    download(lake, f"{place}/out", tmp_path / "copy")
    for name, query in reports(january).items():
        assert_same_rows(published(tmp_path / "copy" / name), expected(query))
    assert not [name for name in lake.folders(f"{place}/out") if name.startswith(".")]


def test_doctor_tries_hdfs(environment: dict[str, str], tmp_path: Path) -> None:
    home = Home(tmp_path / "airflow")
    found = home.cli("doctor", "--json", environment=environment)
    states = {check["name"]: check["state"] for check in json.loads(found.stdout)["checks"]}
    wanted = ("staging root", "staging commits", "staging lists", "staging clock")
    assert {name: states[name] for name in wanted} == dict.fromkeys(wanted, "ok")
    environment["AIRFLOW_CONN_LAKE"] = json.dumps({"conn_type": "webhdfs", "host": "nn", "password": "x"})
    refused = home.cli("doctor", "--json", environment=environment)
    (check,) = [check for check in json.loads(refused.stdout)["checks"] if check["name"].startswith("staging")]
    assert check["state"] == "failed"
    assert "Kerberos" in check["found"]
