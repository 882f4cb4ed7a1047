"""Executors of different users, and a driver of another one, stage and publish in folders of their group."""

import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import ClusterHome, needs_hosts, run
from tests.cluster.standalone_cluster import Cluster, standalone_cluster
from tests.harness.reference import assert_same_rows, expected, published, reports

pytestmark = pytest.mark.cluster

GROUP = 64_000
WORKERS = [pwd.getpwnam(name).pw_uid for name in ("games", "nobody")]
"""Hadoop needs users with names; these are on every Linux."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Return a cluster below a folder that every user may enter; each worker has another user."""
    needs_hosts()
    users = {f"worker-{number + 1}": (user, GROUP) for number, user in enumerate(WORKERS)}
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    folder.chmod(0o755)
    try:
        with standalone_cluster(folder, users) as found:
            yield found
    finally:
        shutil.rmtree(folder)


def test_executors_of_other_users_stage_and_publish_for_the_driver(cluster_home: ClusterHome) -> None:
    home = cluster_home
    for folder in (home.staging, home.output):
        folder.mkdir(parents=True, exist_ok=True)
        os.chown(folder, -1, GROUP)
        folder.chmod(0o2770)
    run(home, "flights", home.params)
    for name, query in reports(home.data).items():
        assert_same_rows(published(home.output / name), expected(query))

    staged = [path.stat() for path in home.staging.rglob("*.parquet")]
    assert staged
    assert {found.st_uid for found in staged} <= {*WORKERS}
    for folder in (home.staging, home.output):
        found = [path.stat() for path in folder.rglob("*")]
        assert {(each.st_gid, each.st_mode & stat.S_IRGRP) for each in found} == {(GROUP, stat.S_IRGRP)}
    own = [home.staging, *(path for path in home.staging.glob("*/*/*") if path.is_dir())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in own} == {0o2770}


def test_a_root_of_one_user_is_refused_before_a_row_is_written(cluster_home: ClusterHome) -> None:
    home = cluster_home
    said = run(home, "flights", home.params, ends_with=1)
    assert "is not shared with this worker (executor on 127.0.0." in said
    assert not [*home.output.iterdir()]
