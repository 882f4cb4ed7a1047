"""A fault happens once, at its planned point, which is recognized by the files that a driver makes."""

import os
import sys
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import PositionLayout, StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId
from graph_compiler.staging.store.local_store import LocalStore
from tests.faults.places.file_points import FilePoints, is_visible, made_file
from tests.faults.plan import Point

pytestmark = pytest.mark.spark  # the store stands beside what imports pyspark


def seen(point: Point, tmp_path: Path) -> tuple[list[str], FilePoints, StagingLayout]:
    """Return an armed hook, and the events up to the time when it fires."""
    layout = StagingLayout(root=f"{tmp_path}/staging", identity=RunIdentity.own("p", "r"))
    fired: list[str] = []
    turn = tmp_path / "turn"
    turn.touch()

    def fire() -> None:
        made = tmp_path.rglob("*.json")
        fired.append(",".join(sorted(path.name for path in made if path.name[0] != ".")))

    return fired, FilePoints(point, Path(layout.run), tmp_path / "out", fire, since=turn), layout


def link(hook: FilePoints, source: Path, destination: Path) -> None:
    """Do what `os.link` does: first its audit event, then that of the next operation."""
    hook("os.link", (str(source), destination))
    destination.parent.mkdir(parents=True, exist_ok=True)
    os.link(source, destination)
    hook("os.remove", (str(source),))


@pytest.mark.parametrize(
    ("point", "there"),
    [
        (Point.BEFORE_MANIFEST, [""]),
        (Point.AFTER_MANIFEST, ["0.json"]),
        (Point.BEFORE_INTENT, ["0.json"]),
        (Point.AFTER_INTENT, ["0.intent.json,0.json"]),
    ],
)
def test_faults_strike_before_and_after_a_document(point: Point, there: list[str], tmp_path: Path) -> None:
    fired, hook, layout = seen(point, tmp_path)
    document = tmp_path / "document"
    document.touch()
    link(hook, document, Path(layout.manifest(IntermediateDataSetId("d-0"), 0)))
    link(hook, document, Path(layout.intent("/out/a", 0)))
    link(hook, document, Path(layout.manifest(IntermediateDataSetId("d-0"), 1)))
    assert fired == there


@pytest.mark.parametrize(
    ("point", "there"),
    [
        (Point.AFTER_ENTRY, ["3.json"]),
        (Point.AFTER_CLAIM, ["3.end.json,3.json"]),
        (Point.BEFORE_POSITION, ["3-sink.begun.json,3.end.json,3.json"]),
    ],
)
def test_faults_strike_around_the_documents_of_a_position(point: Point, there: list[str], tmp_path: Path) -> None:
    fired, hook, layout = seen(point, tmp_path)
    position, sink = PositionLayout(root=layout.root, owner="p", uid="new"), OperatorId("sink")
    document = tmp_path / "document"
    document.touch()
    for path in (position.listed(3, "e"), position.entry(3), position.end(3), position.sink_begun(3, sink)):
        link(hook, document, Path(path))
        Path(position.listed(3, "e")).unlink(missing_ok=True)
    link(hook, document, Path(position.sink_done(3, sink)))
    link(hook, document, Path(position.entry(4)))
    assert fired == there


def test_the_middle_of_a_publication_is_its_first_visible_row(tmp_path: Path) -> None:
    fired, hook, _ = seen(Point.MID_PUBLISH, tmp_path)
    for name in (".out.graph_compiler/a", "a", "b"):
        assert not fired
        hook("os.rename", ("elsewhere", str(tmp_path / "out" / name), -1, -1))
        if name == "a":
            hook("os.rename", ("elsewhere", "elsewhere", -1, -1))
            assert not fired, "it was about to be, and is not"
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "a").touch()
    assert len(fired) == 1


def test_a_store_emits_the_expected_events(tmp_path: Path) -> None:
    events: list[str] = []
    looks = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if looks and (made := made_file(event, arguments)):
            events.append(Path(made).name)

    sys.addaudithook(hook)
    LocalStore().put_if_absent(f"{tmp_path}/manifests/d/0.json", b"{}")
    looks = False
    assert "0.json" in events


def test_readers_do_not_see_hidden_files(tmp_path: Path) -> None:
    visible = {"a/b": True, ".a/b": False, "a/_temporary/b": False, "a/.b": False}
    assert {name: is_visible(tmp_path / name, tmp_path) for name in visible} == visible
    assert not is_visible(Path("/elsewhere/a"), tmp_path)


def test_nothing_counts_before_the_region_s_turn(tmp_path: Path) -> None:
    fired, hook, layout = seen(Point.BEFORE_MANIFEST, tmp_path)
    (tmp_path / "turn").unlink()
    document = tmp_path / "document"
    document.touch()
    link(hook, document, Path(layout.manifest(IntermediateDataSetId("d-0"), 0)))
    assert fired == []
    (tmp_path / "turn").touch()
    link(hook, document, Path(layout.manifest(IntermediateDataSetId("d-1"), 0)))
    assert len(fired) == 1
