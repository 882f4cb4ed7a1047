"""The records that an epoch's data are gone: released, or found damaged (decisions 11 and 13)."""

from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.staging.results.manifest_log import DamagedResult, find_damage, record_damage
from graph_compiler.staging.results.release import find_release
from graph_compiler.staging.store.local_store import LocalStore

RESULT = IntermediateDataSetId("cbc357cc-0")
STORE = LocalStore()


def damaged(execution_id: str) -> DamagedResult:
    return DamagedResult(
        result_id=RESULT, epoch=0, file="part-0", reason="its length was changed", execution_id=execution_id, time=7
    )


@pytest.fixture
def layout(tmp_path: Path) -> StagingLayout:
    return StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))


def test_what_is_neither_released_nor_damaged_has_no_record(layout: StagingLayout) -> None:
    assert find_damage(STORE, layout, RESULT, 0) is None
    assert find_release(STORE, layout, RESULT, 0) is None


def test_the_first_who_finds_damage_is_named(layout: StagingLayout) -> None:
    record_damage(STORE, layout, damaged("one"))
    record_damage(STORE, layout, damaged("two"))
    found = find_damage(STORE, layout, RESULT, 0)
    assert found == damaged("one")
    assert found.words() == (
        "epoch 0 of cbc357cc-0 was found damaged by execution one: file part-0: its length was changed"
    )
    assert find_damage(STORE, layout, RESULT, 1) is None


def test_a_record_of_damage_that_cannot_be_read_still_says_that_the_data_are_damaged(layout: StagingLayout) -> None:
    STORE.put(layout.damaged(RESULT, 0), b"{")
    with pytest.raises(PartitionNotFoundError, match="epoch 0 of cbc357cc-0 was found damaged; "):
        find_damage(STORE, layout, RESULT, 0)


def test_a_record_of_a_release_that_cannot_be_read_still_says_that_the_data_are_gone(layout: StagingLayout) -> None:
    STORE.put(layout.released(RESULT, 0), b"")
    with pytest.raises(PartitionNotFoundError, match="epoch 0 of cbc357cc-0 was released; "):
        find_release(STORE, layout, RESULT, 0)
