"""A standalone cluster for the whole session, and Airflow homes that submit to it."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cluster.standalone_cluster import ENVIRONMENT, ROOT, Cluster, standalone_cluster
from tests.end_to_end.conftest import Home, migrated, shared_classes
from tests.harness.flights_data import copy_january

__all__ = ["migrated", "shared_classes"]
REPOSITORY = Path(__file__).with_name("repository")


@dataclass(frozen=True)
class ClusterHome(Home):
    """An Airflow home whose tasks run on the cluster; `repository` is a user's, on the driver's host only."""

    cluster: Cluster = field(kw_only=True)
    repository: Path = field(kw_only=True)

    @property
    def staging(self) -> Path:
        """Return the staging root, which all hosts see."""
        return self.cluster.shared / self.folder.name / "staging"

    @property
    def output(self) -> Path:
        return self.cluster.shared / self.folder.name / "output"

    def environment(self, **more: str) -> dict[str, str]:
        connection = {"conn_type": "spark", "host": "spark://127.0.0.1", "port": self.cluster.port}
        settings = {
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.repository / "dags"),
            "AIRFLOW__GRAPH_COMPILER__STAGING_ROOT": str(self.staging),
            "AIRFLOW__GRAPH_COMPILER__SPARK_CONF": json.dumps(self.cluster.conf()),
            "SPARK_CONF_DIR": str(self.cluster.configuration),
        }
        environment = super().environment(**(settings | more))
        environment["PYTHONPATH"] += f"{os.pathsep}{self.repository}"
        return environment


def run(home: Home, dag: str, params: Mapping[str, str], *, ends_with: int = 0, **settings: str) -> str:
    """Run a Dag as `airflow dags test` does; return what it prints."""
    command = ("-m", "airflow", "dags", "test", dag, "2013-01-01", "--conf", json.dumps(params))
    done = home.command(*command, environment=home.environment(**settings))
    assert done.returncode == ends_with, done.stdout[-8000:] + done.stderr[-8000:]
    return done.stdout + done.stderr


def needs_hosts() -> None:
    """Skip a test where it cannot have hosts of its own."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("hosts of their own need mount namespaces: root on Linux")
    assert ENVIRONMENT.exists(), "make test-cluster and make test-objects make it"


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    needs_hosts()
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def whole_cluster(cluster: Cluster) -> Cluster:
    """Return the cluster with all its hosts, which an earlier test may have killed."""
    for name in ("master", "worker-1", "worker-2"):
        if name not in cluster.daemons:
            cluster.start(name)
    cluster.wait_for_workers(2)
    return cluster


@pytest.fixture
def cluster_home(cluster: Cluster, tmp_path: Path, migrated: Path) -> ClusterHome:
    """Return a home with a database, and a copy of the repository outside the project."""
    repository = tmp_path / "repository"
    shutil.copytree(REPOSITORY, repository)
    folder = tmp_path / f"airflow-{tmp_path.name}"
    folder.mkdir()
    shutil.copy(migrated, folder)
    home = ClusterHome(folder, data=cluster.shared / "january", cluster=cluster, repository=repository)
    home.output.mkdir(parents=True)
    if not home.data.exists():
        copy_january(home.data)
    assert not repository.is_relative_to(ROOT)
    return home
