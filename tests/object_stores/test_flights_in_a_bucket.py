"""The flights example with its staging root in a bucket: under Airflow, in process, and looked at afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.object_stores.s3_store import ObjectStore
from tests.end_to_end.conftest import Home
from tests.harness.object_stores import CONNECTOR, SECRET, ObjectServer
from tests.harness.reference import assert_same_rows, expected, published, reports
from tests.harness.staging_in_stores import download, staging_variables, upload
from tests.harness.view_of_a_run import check_the_view
from tests.object_stores.conftest import BUCKET, PLAIN

pytestmark = pytest.mark.objects

DAY = "2013-01-01"


@pytest.fixture
def environment(server: ObjectServer, january: Path, tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the variables of a project whose staging root is in the bucket."""
    root = f"s3a://{BUCKET}/{request.node.name.translate(PLAIN)}"
    settings = {**CONNECTOR, "spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    return Home(tmp_path / "airflow", data=january).environment(
        **staging_variables(root, server.connection), AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps(settings)
    )


@pytest.mark.parametrize("how", ["under_airflow", "in_process"])
def test_flights_are_right_with_a_staging_root_in_a_bucket(
    how: str, environment: dict[str, str], server: ObjectServer, january: Path, tmp_path: Path
) -> None:
    home = Home(tmp_path / "airflow", data=january)
    given = [f"--param={name}={value}" for name, value in home.params.items()]
    in_process = ["--in-process"] if how == "in_process" else []
    # Its commit is not answered: the run goes on, and the result is committed once.
    server.breaks("PUT", "/manifests/", "lost")
    ran = home.cli("run", "flights", "--date", DAY, *given, *in_process, "--json", environment=environment)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    for name, query in reports(january).items():
        assert_same_rows(published(home.output / name), expected(query))

    root = environment["AIRFLOW__GRAPH_COMPILER__STAGING_ROOT"]
    store = ObjectStore(BUCKET, server.access)
    run_id = json.loads(ran.stdout)["run_id"]
    layout = StagingLayout(root=root, identity=RunIdentity.own("flights", run_id))
    names = [file.key.removeprefix(f"{layout.run}/") for file in store.files(layout.run)]
    assert sum(name.startswith("manifests/") for name in names) == 1
    for file in store.files(layout.run):
        content = store.get(file.key)
        assert content is not None
        assert SECRET.encode() not in content

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

    removed = home.cli("staging", "gc", "--older-than", "1 h", "--json", environment=environment)
    assert removed.returncode == 0, removed.stderr
    assert list(store.files(layout.run)), "it is younger than an hour"


@pytest.mark.parametrize("staging", ["in_the_bucket", "on_a_disk"])
def test_flights_are_read_from_and_published_to_a_bucket(
    staging: str, environment: dict[str, str], server: ObjectServer, january: Path, tmp_path: Path
) -> None:
    home, store = Home(tmp_path / "airflow", data=january), ObjectStore(BUCKET, server.access)
    place = environment["AIRFLOW__GRAPH_COMPILER__STAGING_ROOT"].replace("flights", staging)
    upload(store, january, f"{place}/in")
    if staging == "on_a_disk":
        settings = json.loads(environment["AIRFLOW__GRAPH_COMPILER__SPARK_CONF"])
        environment |= server.access.environment() | {
            "AIRFLOW__GRAPH_COMPILER__STAGING_ROOT": str(tmp_path / "staging"),
            "AIRFLOW__GRAPH_COMPILER__SPARK_CONF": json.dumps(settings | server.access.spark_settings()),
        }
        del environment["AIRFLOW__GRAPH_COMPILER__STAGING_CONN_ID"]
    given = [f"--param=input={place}/in", f"--param=output={place}/out"]
    # It is not answered that an upload is completed: the file is there, and is not completed again.
    server.breaks("POST", "uploadId", "lost")
    ran = home.cli("run", "flights", "--date", DAY, *given, "--json", environment=environment)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    download(store, f"{place}/out", tmp_path / "copy")
    for name, query in reports(january).items():
        assert_same_rows(published(tmp_path / "copy" / name), expected(query))
    left = [file.key for file in store.files(f"{place}/out")]
    assert not [key for key in left if "__magic" in key or ".graph_compiler" in key]
    assert server.uploads(BUCKET, f"{place}/out") == []


def test_credentials_that_expire_fail_the_task_and_the_next_run_is_right(
    environment: dict[str, str], server: ObjectServer, january: Path, tmp_path: Path
) -> None:
    home = Home(tmp_path / "airflow", data=january)
    given = [f"--param={name}={value}" for name, value in home.params.items()]
    command = ("run", "flights", "--date", DAY, *given, "--in-process")
    server.breaks("PUT", "/manifests/", "expired", times=100)
    failed = home.cli(*command, environment=environment)
    assert failed.returncode == 1, failed.stderr + failed.stdout
    assert "ExpiredToken" in failed.stdout + failed.stderr
    assert not (home.output / "late_routes").exists()
    server.breaks("PUT", "/manifests/", "expired", times=0)
    ran = home.cli(*command, environment=environment)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    for name, query in reports(january).items():
        assert_same_rows(published(home.output / name), expected(query))


def test_doctor_tries_the_bucket_from_both_sides(
    environment: dict[str, str], server: ObjectServer, tmp_path: Path
) -> None:
    home, before = Home(tmp_path / "airflow"), len(server.requests())
    found = home.cli("doctor", "--json", environment=environment)
    agents = {line.rpartition(" ")[2] for line in server.requests(since=before) if "PUT" in line}
    assert len(agents) == 2, "obstore, and S3A"
    states = {check["name"]: check["state"] for check in json.loads(found.stdout)["checks"]}
    wanted = ("staging root", "staging commits", "staging lists", "staging clock", "executors")
    assert {name: states[name] for name in wanted} == dict.fromkeys(wanted, "ok")
    without = {"AIRFLOW__GRAPH_COMPILER__SPARK_CONF": json.dumps({"spark.ui.enabled": "false"})}
    ill = home.cli("doctor", "--json", environment=environment | without)
    (check,) = [one for one in json.loads(ill.stdout)["checks"] if one["name"] == "executors"]
    assert check["state"] == "failed"
    assert check["found"] == "this Spark has no file system for s3a:"
    assert "org.apache.hadoop:hadoop-aws:3.5.0" in check["cure"]
    environment["AIRFLOW_CONN_LAKE"] = json.dumps({"conn_type": "aws", "login": "only"})
    refused = home.cli("doctor", "--json", environment=environment)
    (check,) = [check for check in json.loads(refused.stdout)["checks"] if check["name"].startswith("staging")]
    assert check["state"] == "failed"
    assert "only one of login and password" in check["found"]
