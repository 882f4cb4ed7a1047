"""What can be seen of the HDFS store without HDFS: on Hadoop's own local file system, and a first key."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler.deployment.commit_store import CommitStore, LocalCommitStore
from graph_compiler.spark_runtime.hadoop_commit_store import HdfsCommitStore, S3CommitStore

pytestmark = pytest.mark.spark


def test_what_is_put_is_found(spark: SparkSession, tmp_path: Path) -> None:
    store, folder = HdfsCommitStore(spark), f"file:{tmp_path}/deep"
    assert store.keys(folder) == []
    assert store.get(f"{folder}/key") is None
    assert store.put_if_absent(f"{folder}/key", b"\x00content\xff")
    assert store.get(f"{folder}/key") == b"\x00content\xff"
    assert store.keys(folder) == [f"{folder}/key"]


def test_every_store_is_a_commit_store(spark: SparkSession) -> None:
    stores: list[CommitStore] = [LocalCommitStore(), HdfsCommitStore(spark), S3CommitStore(spark)]
    assert len(stores) == 3  # mypy compares their methods with the protocol's
