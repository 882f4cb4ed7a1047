"""A YARN cluster for the whole session, and Airflow homes that submit to it."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cluster.conftest import REPOSITORY, needs_hosts
from tests.end_to_end.conftest import Home, migrated, shared_classes
from tests.harness.flights_data import copy_january
from tests.yarn.mini_yarn import JARS, Yarn, mini_yarn

__all__ = ["migrated", "shared_classes"]


@dataclass(frozen=True)
class YarnHome(Home):
    """An Airflow home whose tasks run on YARN; `repository` is a user's, on Airflow's host only."""

    yarn: Yarn = field(kw_only=True)
    repository: Path = field(kw_only=True)
    deploy_mode: str = field(kw_only=True, default="cluster")

    @property
    def staging(self) -> Path:
        """Return the staging root, which all hosts see."""
        return self.yarn.shared / self.folder.name / "staging"

    @property
    def output(self) -> Path:
        return self.yarn.shared / self.folder.name / "output"

    def environment(self, **more: str) -> dict[str, str]:
        connection = {
            "conn_type": "spark",
            "host": "yarn",
            "extra": {
                "deploy-mode": self.deploy_mode,
                "yarn_resourcemanager_webapp_address": self.yarn.resource_manager,
            },
        }
        settings = {
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.repository / "dags"),
            "AIRFLOW__GRAPH_COMPILER__STAGING_ROOT": str(self.staging),
            "AIRFLOW__GRAPH_COMPILER__SPARK_CONF": json.dumps(self.yarn.conf()),
            "HADOOP_CONF_DIR": str(self.yarn.configuration),
        }
        environment = super().environment(**(settings | more))
        environment["PYTHONPATH"] += f"{os.pathsep}{self.repository}"
        return environment


@pytest.fixture(scope="session")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    needs_hosts()
    assert JARS.exists(), "make test-yarn fetches them"
    with mini_yarn(tmp_path_factory.mktemp("yarn")) as found:
        yield found


@pytest.fixture
def yarn_home(yarn: Yarn, tmp_path: Path, migrated: Path) -> YarnHome:
    """Return a home with a database, and a copy of the repository outside the project."""
    repository = tmp_path / "repository"
    shutil.copytree(REPOSITORY, repository)
    folder = tmp_path / f"airflow-{tmp_path.name}"
    folder.mkdir()
    shutil.copy(migrated, folder)
    home = YarnHome(folder, data=yarn.shared / "january", yarn=yarn, repository=repository)
    home.output.mkdir(parents=True)
    if not home.data.exists():
        copy_january(home.data)
    return home
