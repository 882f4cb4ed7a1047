import re

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout, root_of, staging_root_at
from graph_compiler.errors import StagingError
from graph_compiler.identifiers import RegionId, distinct, path_segment, task_id


def test_a_run_id_becomes_one_folder() -> None:
    layout = StagingLayout(root="/s", identity=RunIdentity.own("flights", "manual__2013-01-01T00:00:00+00:00"))
    assert layout.descriptor(RegionId("late"), "e1") == (
        "/s/flights/manual__2013-01-01T00%3A00%3A00%2B00%3A00/tasks/late/e1/descriptor.json"
    )


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a b", "ü", "%2E"])
def test_names_stay_in_their_folder_and_never_collide(name: str) -> None:
    segment = path_segment(name)
    assert "/" not in segment
    assert segment.strip(".")
    assert path_segment("%252E") != path_segment("%2E")


@pytest.mark.parametrize("uri", ["/mnt/staging/", "file:///mnt/staging"])
def test_local_roots(uri: str) -> None:
    assert staging_root_at(uri) == "/mnt/staging"


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("s3a://lake/staging", "s3a://lake/staging"),
        ("s3a://lake/a//b/", "s3a://lake/a/b"),
        ("s3a://lake", "s3a://lake"),
        ("s3a://lake/", "s3a://lake"),
        ("hdfs://nn:9000/a//b/", "hdfs://nn:9000/a/b"),
        ("hdfs://nn:8020/a", "hdfs://nn/a"),
    ],
)
def test_roots_that_are_not_on_a_disk(uri: str, root: str) -> None:
    assert staging_root_at(uri) == root
    layout = StagingLayout(root=root, identity=RunIdentity.own("flights", "r"))
    assert root_of(layout.descriptor(RegionId("late"), "e1")) == root


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("s3://lake/staging", "Spark's name of this scheme is s3a:, not s3:"),
        ("gs://lake/staging", "there is no store for 'gs:' yet, because none has been tried"),
        ("hdfs:///staging", "it names no NameNode, so each host could find a different place"),
        ("hdfs:/staging", "it names no NameNode"),
        ("hdfs://nn:8020", "it is a whole file system"),
        ("hdfs://user@nn/staging", "it contains credentials"),
        ("hdfs://n_n/staging", "'n_n' is not the name of a host"),
        ("hdfs://nn/a/../b", "it contains '.' or '..', which HDFS refuses"),
        ("hdfs://nn/a:b", "its path has characters besides"),
        ("webhdfs://nn/staging", "there is no store for 'webhdfs:' yet"),
        ("s3a://KEY:SECRET@lake/staging", "it contains credentials"),
        ("s3a:///staging", "'' is not the name of a bucket"),
        ("s3a://Lake/staging", "'Lake' is not the name of a bucket"),
        ("s3a://lake/a/../b", "it contains '.' or '..'"),
        ("s3a://lake/a?b", "its prefix has characters besides"),
        ("s3a://lake/a%2Fb", "its prefix has characters besides"),
        ("s3a:/lake", "it has scheme 's3a:'"),
        ("ftp://host/x", "it has scheme 'ftp:'"),
        ("staging", "a relative path"),
    ],
)
def test_a_place_without_a_store_is_refused(uri: str, why: str) -> None:
    with pytest.raises(StagingError, match=re.escape(why)) as refused:
        staging_root_at(uri)
    assert "allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs:" in str(refused.value)


def test_task_ids_are_what_airflow_allows_and_distinct() -> None:
    assert task_id("Sink: late routes!") == "Sink_late_routes"
    assert task_id("·") == "task"
    assert distinct(["a", "a", "a_2", "a"]) == ("a", "a_2", "a_2_2", "a_3")
    assert {len(name) for name in distinct(["x" * 250] * 3)} == {250}
