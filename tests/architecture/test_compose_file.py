"""docker-compose.yaml: every service is limited, watched and unprivileged, and its settings are documented."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yaml").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
PAGE = (ROOT / "docs" / "compose.md").read_text()
VARIABLES = set(re.findall(r"(?<!\$)\$\{(\w+)", TEXT))
WRITTEN = {
    *("ADMIN_PASSWORD", "API_SECRET_KEY", "FERNET_KEY", "JWT_SECRET", "POSTGRES_PASSWORD"),
    *("REDIS_PASSWORD", "SPARK_AUTHENTICATION_SECRET", "USER_ID"),
}
"""What `make up` writes into .env (test_compose_script.py)."""
ENDS = "airflow-init"
OF_OTHERS = ("postgres", "redis")
"""Services whose images are not ours: they need a few privileges when they start, and write where they like."""


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_limited_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert service["mem_limit"]
    assert service["logging"]["options"]["max-size"]
    if name == ENDS:
        assert service["restart"] == "no"
    else:
        assert service["restart"] == "unless-stopped"
        assert service["healthcheck"]["test"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_privileges(name: str) -> None:
    service = SERVICES[name]
    assert service["security_opt"] == ["no-new-privileges:true"]
    if name not in OF_OTHERS:
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"]
    assert "privileged" not in service


@pytest.mark.parametrize("name", SERVICES)
def test_a_port_is_on_loopback(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


def test_executors_reach_neither_airflow_nor_its_database() -> None:
    networks = set(SERVICES["spark-worker"]["networks"])
    reached = {name for name, each in SERVICES.items() if networks & set(each["networks"])}
    assert reached == {
        *("airflow-scheduler", "airflow-worker"),  # the drivers
        *("spark-master", "spark-worker", "spark-history"),
    }


def test_no_password_is_in_the_file() -> None:
    found = re.findall(r"^ *(\w*(?:PASSWORD|SECRET|KEY)\w*): (.*)$", TEXT, re.MULTILINE)
    assert len(found) > 5
    assert all(value.startswith("${") for _, value in found if "FILE" not in _)


def test_every_variable_is_written_by_make_up_or_documented() -> None:
    documented = set(re.findall(r"`([A-Z][A-Z_]+)`", PAGE))
    assert documented >= VARIABLES - WRITTEN
    assert WRITTEN <= VARIABLES


@pytest.mark.parametrize(("name", "default"), sorted(set(re.findall(r"(?<!\$)\$\{(\w+):-([^}]+)\}", TEXT))))
def test_a_documented_default_is_the_one_in_the_file(name: str, default: str) -> None:
    if name in WRITTEN:
        return
    names, defaults = next(
        row for row in re.findall(r"^\| (`[A-Z].+?) \| (.+?) \|", PAGE, re.MULTILINE) if name in row[0]
    )
    position = re.findall(r"`(\w+)`", names).index(name)
    assert defaults.replace("`", "").split(", ")[position] == default


def test_every_service_is_on_the_page() -> None:
    assert set(SERVICES) <= set(re.findall(r"`([a-z-]+)`", PAGE))
