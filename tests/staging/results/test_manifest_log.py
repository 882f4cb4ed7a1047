"""Who commits an epoch, and what happens to an unreadable manifest (decision 10); without Spark."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.manifest import VERSION, DataFile, Manifest, ManifestPartition
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import Json, to_json
from graph_compiler.errors import DamagedDocumentError, OtherVersionError, StagingError
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.in_memory_store import InMemoryStore

RESULT = IntermediateDataSetId("cbc357cc-0")
OTHER = IntermediateDataSetId("0a448493-0")
FILE = DataFile(name="part-0", rows=3, bytes=10, checksums="ab")


def manifest(execution_id: str, *, epoch: int = 0, file: DataFile = FILE) -> Manifest:
    return Manifest(
        version=VERSION,
        result_id=RESULT,
        epoch=epoch,
        parent_epoch=None,
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=0),
        plan_id="plan",
        fingerprint="print",
        location=f"/staging/p/r/data/{RESULT}/epoch-{epoch}-{execution_id}",
        schema="{}",
        partitions=(ManifestPartition(index=0, files=(file,)),),
        checksum="sum",
        contracts=(),
    )


@pytest.fixture
def log() -> ManifestLog:
    layout = StagingLayout(root="/staging", identity=RunIdentity.own("p", "r"))
    return ManifestLog(store=InMemoryStore(), layout=layout)


def leave(log: ManifestLog, content: str, *, epoch: int = 0) -> None:
    """Replace a manifest by something else."""
    log.store.put(log.layout.manifest(RESULT, epoch), content.encode())


def test_the_second_writer_gets_the_manifest_of_the_first(log: ManifestLog) -> None:
    first = manifest("one")
    assert log.commit(first) == first
    assert log.commit(manifest("two")) == first
    assert log.epochs(RESULT) == (0,)


def test_a_commit_whose_answer_was_lost_succeeds_when_repeated(log: ManifestLog) -> None:
    first = manifest("one")
    log.commit(first)
    assert log.commit(first) == first


@pytest.mark.parametrize("changed", [{"plan_id": "edited"}, {"fingerprint": "other"}])
def test_an_epoch_of_another_plan_is_not_adopted(log: ManifestLog, changed: dict[str, str]) -> None:
    log.commit(manifest("one"))
    with pytest.raises(StagingError, match="was committed by execution one of another plan"):
        log.commit(replace(manifest("two"), **changed))  # type: ignore[arg-type]  # of these fields
    assert log.latest(RESULT) == manifest("one")


def test_losing_to_an_unreadable_manifest_suggests_a_retry(log: ManifestLog) -> None:
    leave(log, "")
    with pytest.raises(DamagedDocumentError, match="the next attempt commits the next epoch"):
        log.commit(manifest("one"))
    assert log.next_epoch(RESULT) == 1


def test_epochs_are_in_order_and_other_names_are_ignored(log: ManifestLog) -> None:
    for epoch in (10, 9, 2):
        log.commit(manifest("one", epoch=epoch))
    for name in ("03.json", "x.json", "4.json.tmp"):
        log.store.put(f"{log.layout.manifests(RESULT)}/{name}", b"{}")
    assert log.epochs(RESULT) == (2, 9, 10)
    assert log.next_epoch(RESULT) == 11
    assert log.next_epoch(OTHER) == 0


def test_a_lost_last_epoch_is_not_replaced_by_the_one_before(log: ManifestLog) -> None:
    log.commit(manifest("one"))
    leave(log, "{", epoch=1)
    assert log.latest(RESULT) is None
    assert log.find(RESULT, 1) is None
    assert log.find(RESULT, 0) == manifest("one")
    with pytest.raises(DamagedDocumentError):
        log.latest_or_why_not(RESULT)


def test_a_manifest_that_is_gone_counts_as_lost(log: ManifestLog) -> None:
    assert log.find(RESULT, 0) is None
    with pytest.raises(DamagedDocumentError, match="is gone"):
        log.manifest(RESULT, 0)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"epoch": 1}, "is of epoch 1 of cbc357cc-0"),
        ({"result_id": OTHER}, "is of epoch 0 of 0a448493-0"),
        ({"schema": "["}, "has a schema that"),
        ({"location": "data/x"}, "names 'data/x', which is not a folder of a staged result"),
        ({"location": "/staging/../etc"}, "which is not a folder of a staged result"),
    ],
)
def test_a_well_formed_but_impossible_manifest_counts_as_lost(
    log: ManifestLog, changed: Mapping[str, Json], why: str
) -> None:
    document = json.loads(to_json(manifest("one"))) | changed
    leave(log, json.dumps(document))
    with pytest.raises(DamagedDocumentError, match=why):
        log.manifest(RESULT, 0)
    assert log.latest(RESULT) is None


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (replace(FILE, rows=-1), "counts rows or bytes that no file has"),
        (replace(FILE, bytes=2**63), "counts rows or bytes that no file has"),
        (replace(FILE, name="../part-0"), "names '../part-0', which is not a file"),
        (replace(FILE, name=".."), r"names '\.\.', which is not a file"),
        (replace(FILE, name=""), "names '', which is not a file"),
    ],
)
def test_files_that_no_task_has_written_are_not_read(log: ManifestLog, file: DataFile, why: str) -> None:
    leave(log, to_json(manifest("one", file=file)))
    with pytest.raises(DamagedDocumentError, match=why):
        log.manifest(RESULT, 0)


def test_the_version_before_is_read_as_it_was_and_a_later_one_is_refused(log: ManifestLog) -> None:
    document = json.loads(to_json(manifest("one"))) | {"version": VERSION - 1}
    for partition in document["partitions"]:
        for file in partition["files"]:
            del file["checksums"]
    leave(log, json.dumps(document))
    assert log.latest(RESULT) == manifest("one", file=replace(FILE, checksums=None))
    leave(log, json.dumps(document | {"version": VERSION + 1}))
    with pytest.raises(OtherVersionError):
        log.latest(RESULT)


@pytest.mark.parametrize(
    ("now", "replaces"),
    [
        ({}, True),
        ({"checksum": "others"}, False),
        ({"checksum": None}, False),
        ({"schema": "[]"}, False),
        ({"partitions": ()}, False),
    ],
)
def test_only_equal_rows_take_the_place_of_those_that_were_read(now: dict[str, object], replaces: bool) -> None:
    before = manifest("one")
    assert replace(before, **now).replaces(before) is replaces  # type: ignore[arg-type]  # of these fields


def test_rows_that_are_declared_the_same_need_no_checksum() -> None:
    before = replace(manifest("one"), deterministic=True, checksum=None)
    assert replace(before, partitions=()).replaces(before)
    assert not replace(before, schema="[]").replaces(before)
    assert not replace(before, deterministic=False).replaces(before)
