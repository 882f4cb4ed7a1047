import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout, local_root
from graph_compiler.errors import StagingError
from graph_compiler.identifiers import RegionId, distinct, path_segment, task_id


def test_a_run_id_becomes_one_folder() -> None:
    layout = StagingLayout(
        root="/s", identity=RunIdentity.own("flights", "manual__2013-01-01T00:00:00+00:00")
    )
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
    assert local_root(uri) == "/mnt/staging"


def test_a_scheme_without_a_commit_store_is_refused() -> None:
    with pytest.raises(
        StagingError, match="there is no store for 's3:'; allowed: an absolute path or a file: URI"
    ):
        local_root("s3://bucket/staging")
    with pytest.raises(StagingError, match="a relative path"):
        local_root("staging")


def test_task_ids_are_what_airflow_allows_and_distinct() -> None:
    assert task_id("Sink: late routes!") == "Sink_late_routes"
    assert task_id("·") == "task"
    assert distinct(["a", "a", "a_2", "a"]) == ("a", "a_2", "a_2_2", "a_3")
    assert {len(name) for name in distinct(["x" * 250] * 3)} == {250}
