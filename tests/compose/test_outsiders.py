"""What somebody finds who is not meant to be here: on this host, on the executors, in the image."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.compose.deployment import Deployment
from tests.harness.reference import rows

pytestmark = pytest.mark.compose

NOT_SECRET = ("USER_ID",)
OF_SPARK = "_SPARK_AUTH_SECRET="
"""The variable by which Spark gives executors the secret of a standalone cluster; docs/compose.md says so."""
PUBLISHED = {8080, 8081, 18080}


def secret_values(deployment: Deployment) -> dict[str, str]:
    return {name: value for name, value in deployment.secrets().items() if name not in NOT_SECRET}


def test_only_three_ports_are_published_and_on_loopback_only(deployment: Deployment) -> None:
    ids = deployment.compose("ps", "-q").split()
    found = json.loads(deployment.docker("inspect", *ids))
    bound = [
        (each["HostIp"], int(each["HostPort"]))
        for container in found
        for ports in (container["NetworkSettings"]["Ports"] or {}).values()
        for each in ports or ()
    ]
    assert sorted(bound) == [("127.0.0.1", port) for port in sorted(PUBLISHED)]


@pytest.mark.parametrize(
    "credentials", [("admin", "admin"), ("airflow", "airflow"), ("admin", ""), ("viewer", "viewer")]
)
def test_common_passwords_are_refused(deployment: Deployment, credentials: tuple[str, str]) -> None:
    body = dict(zip(("username", "password"), credentials, strict=True))
    refused = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.UNPROCESSABLE_ENTITY)
    assert _status(deployment, "/auth/token", body) in refused


@pytest.mark.parametrize(
    "path",
    [
        "/api/v2/dags",
        "/api/v2/connections",
        "/api/v2/config",
        "/graph-compiler/api/dags/flights/plan",
        "/execution/task-instances/00000000-0000-0000-0000-000000000000/run",
    ],
)
def test_the_api_needs_a_login(deployment: Deployment, path: str) -> None:
    assert _status(deployment, path) in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED)


def test_postgresql_needs_the_password(deployment: Deployment) -> None:
    program = (
        "import psycopg2\n"
        "try: psycopg2.connect('postgresql://airflow:airflow@postgres/airflow')\n"
        "except psycopg2.OperationalError as error: print(error)\n"
        "else: print('let in')"
    )
    assert "password authentication failed" in deployment.execute("airflow-scheduler", "python", "-c", program)


def test_spark_refuses_an_application_without_the_secret(deployment: Deployment) -> None:
    program = (
        "import os\n"
        "os.environ['SPARK_CONF_DIR'] = '/tmp/none'\n"
        "from pyspark.sql import SparkSession\n"
        "builder = SparkSession.builder.master('spark://spark-master:7077')\n"
        "try: builder.getOrCreate().range(3).count()\n"
        "except Exception as error: print('refused')\n"
        "else: print('let in')"
    )
    assert "refused" in deployment.execute("airflow-scheduler", "python", "-c", program)


def test_functions_on_executors_see_no_secret_but_sparks_and_no_other_service(deployment: Deployment) -> None:
    run_id = deployment.trigger("environments")
    assert deployment.end_of("environments", run_id) == "success"
    seen = [str(row[0]) for row in rows(deployment.output / "environments")]
    assert f"user {deployment.secrets()['USER_ID']}" in seen
    others = "\n".join(each for each in seen if not each.startswith(OF_SPARK))
    found = [name for name, value in secret_values(deployment).items() if value in others]
    assert found == []
    for name in ("postgres", "airflow-api-server", "redis"):
        reached = f"import socket; print(socket.gethostbyname('{name}'))"
        with pytest.raises(AssertionError, match="Name or service not known|Temporary failure"):
            deployment.execute("spark-worker", "python", "-c", reached)


def test_no_secret_is_in_the_image_in_arguments_or_on_sparks_pages(deployment: Deployment) -> None:
    ids = deployment.running()
    texts = {
        "image": deployment.docker("history", "--no-trunc", deployment.variables["IMAGE"]),
        "variables of the image": deployment.docker("inspect", deployment.variables["IMAGE"]),
        "arguments": "".join(deployment.docker("top", each, "-eo", "pid,args") for each in ids),
        "labels": "".join(
            deployment.docker("inspect", "--format", "{{json .Config.Labels}}{{.Args}}", each) for each in ids
        ),
        "logs": deployment.compose("logs", "--no-color"),
        "master": _page(8081, "/json/") + _page(8081, "/"),
        "history": _history_pages(),
    }
    found = [
        (place, name)
        for place, text in texts.items()
        for name, value in secret_values(deployment).items()
        if value in text
    ]
    assert found == []


@pytest.mark.parametrize("service", ["airflow-scheduler", "spark-worker"])
def test_a_container_has_no_privileges_and_writes_to_volumes_only(deployment: Deployment, service: str) -> None:
    status = deployment.execute(service, "cat", "/proc/1/status")
    assert re.search(r"^CapEff:\s0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s1$", status, re.MULTILINE)
    with pytest.raises(AssertionError, match="Read-only file system|Permission denied"):
        deployment.execute(service, "touch", "/opt/venv/bin/new")
    with pytest.raises(AssertionError, match="Read-only file system|Permission denied"):
        deployment.execute(service, "touch", "/opt/project/data/new")


def test_a_stranger_of_this_host_cannot_read_the_secrets(deployment: Deployment) -> None:
    assert (deployment.folder / ".env").stat().st_mode & 0o077 == 0


def _status(deployment: Deployment, path: str, body: object = None) -> int:
    data = None if body is None else json.dumps(body).encode()
    address = f"http://127.0.0.1:{deployment.variables['AIRFLOW_PORT']}{path}"
    try:
        with urlopen(Request(address, data, {"Content-Type": "application/json"}), timeout=60) as it:
            return int(it.status)
    except HTTPError as error:
        return error.code


def _page(port: int, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return bytes(answer.read()).decode()


def _history_pages() -> str:
    """Return what the history server shows of the environment of all applications."""
    applications = json.loads(_page(18080, "/api/v1/applications"))
    assert applications
    ids = [each["id"] for each in applications]
    return "".join(_page(18080, f"/api/v1/applications/{id}/environment") for id in ids)
