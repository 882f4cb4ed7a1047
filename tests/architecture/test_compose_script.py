"""`scripts/compose`, with a Docker that only records how it is called."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKER = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in
  "compose ps -q") echo abc ;;
  "volume ls"*) echo "$DATABASE" ;;
  *" build "*) exit "${BUILD:-0}" ;;
esac
"""
SECRETS = {
    *("ADMIN_PASSWORD", "API_SECRET_KEY", "FERNET_KEY", "JWT_SECRET", "POSTGRES_PASSWORD"),
    *("REDIS_PASSWORD", "SPARK_AUTHENTICATION_SECRET"),
}


@dataclass(frozen=True)
class Project:
    """A copy of the script, and what it has called."""

    folder: Path

    def run(self, *words: str, answer: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "CALLS": str(self.folder / "calls"),
            "DATABASE": "",
            **variables,
        }
        return subprocess.run(
            [self.folder / "scripts" / "compose", *words],
            env=environment,
            input=answer,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def env(self) -> Path:
        return self.folder / ".env"

    def secrets(self) -> dict[str, str]:
        lines = self.env.read_text().splitlines()
        return {name: value for name, sign, value in (it.partition("=") for it in lines) if sign}

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name in ("bin", "scripts"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "docker").write_text(DOCKER)
    (tmp_path / "bin" / "docker").chmod(0o700)
    script = tmp_path / "scripts" / "compose"
    script.write_bytes((ROOT / "scripts" / "compose").read_bytes())
    script.chmod(0o700)
    return Project(tmp_path)


def test_the_first_call_writes_secrets_that_only_their_owner_can_read(project: Project) -> None:
    done = project.run("up")
    assert done.returncode == 0, done.stderr
    assert project.env.stat().st_mode & 0o777 == 0o600
    found = project.secrets()
    assert set(found) == {*SECRETS, "USER_ID"}
    assert len({found[name] for name in SECRETS}) == len(SECRETS)
    assert all(len(found[name]) >= 44 for name in SECRETS)
    assert found["USER_ID"] != "0"
    assert f"The password of user admin is {found['ADMIN_PASSWORD']}" in done.stderr


def test_a_later_call_keeps_the_secrets_and_does_not_print_the_password(project: Project) -> None:
    project.run("up")
    before = project.env.read_text()
    done = project.run("up")
    assert project.env.read_text() == before
    assert project.secrets()["ADMIN_PASSWORD"] not in done.stderr + done.stdout


def test_a_secret_that_is_missing_is_added(project: Project) -> None:
    project.env.write_text("ADMIN_PASSWORD=mine\n# JWT_SECRET=old\nAIRFLOW_PORT=9090")
    done = project.run("up")
    found = project.secrets()
    assert found["ADMIN_PASSWORD"] == "mine"
    assert found["AIRFLOW_PORT"] == "9090"
    assert set(found) >= SECRETS
    assert project.env.stat().st_mode & 0o777 == 0o600
    assert "http://127.0.0.1:9090" in done.stderr


def test_a_database_without_its_password_is_not_started(project: Project) -> None:
    done = project.run("up", DATABASE="project_database")
    assert done.returncode == 1
    assert "There is a database, project_database, but no .env" in done.stderr
    assert not project.env.exists()


def test_arguments_are_passed_on(project: Project) -> None:
    project.run("up", "--scale", "spark-worker=4")
    assert "compose up --detach --remove-orphans --scale spark-worker=4" in project.calls()


def test_an_image_that_cannot_be_built_starts_nothing(project: Project) -> None:
    done = project.run("up", BUILD="1")
    assert done.returncode == 1
    assert "To see why: docker compose build airflow-init" in done.stderr
    assert not any(call.startswith("compose up") for call in project.calls())


@pytest.mark.parametrize("answer", ["", "no\n", "y\n"])
def test_nothing_is_removed_without_a_yes(project: Project, answer: str) -> None:
    project.run("up")
    done = project.run("down-all", answer=answer)
    assert done.returncode == 1
    assert "Nothing was removed" in done.stderr
    assert not any("compose down" in call for call in project.calls())
    assert project.env.exists()


def test_down_all_leaves_nothing(project: Project) -> None:
    project.run("up")
    assert project.run("down-all", answer="yes\n").returncode == 0
    assert "compose down --remove-orphans --volumes" in project.calls()
    assert "image rm graph-compiler:local" in project.calls()
    assert not project.env.exists()


def test_down_keeps_volumes_and_secrets(project: Project) -> None:
    project.run("up")
    assert project.run("down").returncode == 0
    assert project.calls()[-2:] == ["compose rm --stop --force -v", "compose down --remove-orphans"]
    assert project.env.exists()


def test_no_docker_is_explained(project: Project) -> None:
    (project.folder / "bin" / "docker").write_text("#!/bin/sh\necho no daemon\nexit 1\n")
    (project.folder / "bin" / "docker-compose").symlink_to("docker")
    done = project.run("up")
    assert done.returncode == 1
    assert "no daemon" in done.stderr
    assert "Is the Docker daemon running" in done.stderr
