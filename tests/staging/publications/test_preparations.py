"""Folders in which executions prepare rows have valid names, which garbage collection recognizes."""

from pathlib import Path

import pytest

from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.publications.preparations import (
    PlaceKind,
    Preparation,
    PreparedPlace,
    beside,
    beside_in_store,
    inside,
    is_beside,
    is_folder_beside,
    prepared_folders,
)

LONG = ["n" * 239, "n" * 240, "n" * 255, "é" * 127, "😀" * 63]


def test_a_short_name_is_kept() -> None:
    assert beside(Path("/data/out")) == Path("/data/.out.graph_compiler")
    assert beside(Path("/data") / ("n" * 239)).name == f".{'n' * 239}.graph_compiler"


@pytest.mark.parametrize("name", LONG)
def test_a_folder_beside_a_target_can_be_made_whatever_the_target_is_called(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    folder = beside(tmp_path / name)
    folder.mkdir()
    assert is_folder_beside(folder)


def test_long_names_that_end_differently_have_folders_of_their_own() -> None:
    one, other = (beside(Path("/data") / ("n" * 254 + last)) for last in "ab")
    assert one != other


@pytest.mark.parametrize("name", [*LONG, "out"])
@pytest.mark.parametrize("room", [beside, inside])
def test_a_record_removes_only_the_folder_of_its_execution(name: str, room: object) -> None:
    assert callable(room)
    target = Path("/data") / name
    for place, allowed in (("e%2F1", True), ("e2", False), ("..", False), ("", False)):
        prepared = PreparedPlace(kind=PlaceKind.FOLDER, place=str(room(target) / place), target=str(target))
        record = Preparation(operator_id=OperatorId("ab"), execution_id="e/1", prepared=prepared)
        assert is_beside(record) is allowed, place


@pytest.mark.parametrize("target", ["hdfs://nn/out", "hdfs://nn:9000/lake/out"])
def test_a_record_of_a_target_in_hdfs_removes_only_the_folder_of_its_execution(target: str) -> None:
    folder = beside_in_store(target, "e%2F1")
    assert folder == target.removesuffix("out") + ".out.graph_compiler/e%2F1"
    assert prepared_folders(folder) == (folder,)
    for place, allowed in ((folder, True), (folder + "x", False), (target, False)):
        prepared = PreparedPlace(kind=PlaceKind.FOLDER, place=place, target=target)
        record = Preparation(operator_id=OperatorId("ab"), execution_id="e/1", prepared=prepared)
        assert is_beside(record) is allowed, place
