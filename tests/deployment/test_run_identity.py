"""Runs are distinguished by everything that makes them different, whatever their ids contain."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.deployment.documents.run_identity import RunIdentity, group_path, with_identity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import from_wire, to_wire
from graph_compiler.errors import StagingError
from graph_compiler.identifiers import TaskId, TaskName, path_segment
from tests.harness.identities import runs_elsewhere

ELSEWHERE = runs_elsewhere("p", "manual__1")
IDS = st.text("aA-.:@/~%é\udc80 1", min_size=1, max_size=250) | st.text(min_size=1, max_size=250)
IDENTITIES = st.builds(
    RunIdentity,
    dag_id=IDS,
    group_path=st.just("") | IDS,
    pipeline=st.sampled_from(["p", "P"]) | IDS,
    run_id=IDS,
    map_index=st.integers(-1, 3),
)


def folder(run: RunIdentity) -> str:
    return StagingLayout(root="/s", identity=run).run


def test_a_run_of_the_pipelines_own_dag_keeps_its_folder() -> None:
    assert folder(RunIdentity.own("flights", "manual__1")) == "/s/flights/manual__1"
    assert folder(RunIdentity.own("flights", "a b")) == "/s/flights/a%20b"


def test_a_run_of_another_dag_has_a_readable_folder_beside_it() -> None:
    run = ELSEWHERE["mapped there, the second"]
    name = folder(run).removeprefix("/s/p/")
    assert name.startswith("nightly-asia-1-manual__1~")
    assert folder(run) == folder(replace(run)), "it is a function of the identity"


def test_no_two_places_share_a_folder_even_where_case_does_not_count() -> None:
    folders = {folder(run).lower() for run in ELSEWHERE.values()}
    assert len(folders) == len(ELSEWHERE)


@given(IDENTITIES, IDENTITIES)
def test_two_runs_never_share_a_folder(one: RunIdentity, other: RunIdentity) -> None:
    folders = {(path_segment(run.pipeline), run.run_folder) for run in (one, other)}
    assert len(folders) == len({one, other})
    for _, name in folders:
        assert 0 < len(name.encode("utf-8")) <= 255
        assert "/" not in name
        assert name.strip(".")


@given(IDENTITIES)
def test_no_run_id_can_be_chosen_that_leads_into_the_folder_of_a_run_elsewhere(run: RunIdentity) -> None:
    """Such as by a user who may trigger a Dag with a run id of any form."""
    chosen = [path_segment(id) for id in (run.run_folder, run.run_id, f"{run.run_id}~" * 9)]
    assert {len(name.partition("~")[2]) for name in chosen} <= {0, 40}
    if not run.is_own:
        assert len(run.run_folder.partition("~")[2]) == 64


@given(IDENTITIES)
def test_owner_name_and_document_identify_the_run(run: RunIdentity) -> None:
    assert RunIdentity.named(run.owner, run.run_id) == run
    assert from_wire(RunIdentity, to_wire(run)) == run


@given(IDENTITIES)
def test_a_folder_is_decoded_to_its_run(run: RunIdentity) -> None:
    recorded = to_wire(run)
    assert RunIdentity.of_folder(path_segment(run.pipeline), run.run_folder, recorded) == run
    if not run.is_own:
        assert RunIdentity.of_folder(path_segment(run.pipeline), run.run_folder) is None
        another = to_wire(replace(run, map_index=run.map_index + 1))
        assert RunIdentity.of_folder(path_segment(run.pipeline), run.run_folder, another) is None


def test_owners_are_named_as_people_write_them() -> None:
    assert [run.owner for run in ELSEWHERE.values()] == [
        "p",
        "p@nightly",
        "p@P",
        "p@Nightly",
        "p@p:emea",
        "p@nightly:emea",
        "p@nightly:asia",
        "p@nightly:asia.daily",
        "p@nightly:asia:0",
        "p@nightly:asia:1",
        "p@p::0",
    ]


@pytest.mark.parametrize("owner", ["p@", "p@:g", "p@d:g:x", "p@d:g:-1", "p@d:g:1:2", "p@d:g:²"])
def test_invalid_names_are_refused(owner: str) -> None:
    with pytest.raises(StagingError, match="is not a pipeline in a Dag\n  allowed: PIPELINE, "):
        RunIdentity.named(owner, "r")


def test_task_ids_and_names_are_mapped_by_the_groups_between_them() -> None:
    late = TaskName("late.routes")
    for run in ELSEWHERE.values():
        task_id = run.task_id(late)
        assert run.task_name(task_id) == late
        assert group_path(task_id, late) == run.group_path
    assert ELSEWHERE["a group of another Dag"].task_name(TaskId("asia.late")) is None
    assert ELSEWHERE["a group of another Dag"].task_name(TaskId("emeas.late")) is None


@pytest.mark.parametrize("task_id", ["early", "xlate", "late.x", "emea_late"])
def test_a_task_id_that_does_not_end_with_its_name_is_refused(task_id: str) -> None:
    with pytest.raises(StagingError, match=f"task '{task_id}' is 'late' of its pipeline; allowed: "):
        group_path(TaskId(task_id), TaskName("late"))


def test_documents_of_earlier_versions_are_those_of_the_pipelines_own_dag() -> None:
    earlier = {"pipeline": "p", "run_id": "r", "host": "h"}
    found = with_identity(earlier)
    assert found == {"host": "h", "identity": to_wire(RunIdentity.own("p", "r"))}
    assert with_identity(found) == found
    assert earlier == {"pipeline": "p", "run_id": "r", "host": "h"}
    assert with_identity({"pipeline": 7}) == {"pipeline": 7}
