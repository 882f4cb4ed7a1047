"""Publications to an object store: interrupted at every step, met by late carriers, and given up."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import PublicationConflictError, PublicationPendingError
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.publications.carrier import DeferredFiles, UploadedFiles, carry_out, files_document, steps
from graph_compiler.staging.publications.places import StorePlace
from graph_compiler.staging.publications.preparations import inside_bucket
from graph_compiler.staging.publications.publications import WHOLE, Intent
from graph_compiler.staging.store.deferred_files import DeferredFile
from tests.machine.in_stores.bucket import Bucket
from tests.machine.in_stores.bucket_client import BucketClient
from tests.machine.in_stores.troubles import Line, Trouble
from tests.machine.process import Process

TARGET = "s3a://lake/out"
MOST_STEPS = 8


class MayNotList(BucketClient):
    """A process whose identity may not list uploads."""

    def abort_uploads(self, folder: str, keys: Collection[str]) -> frozenset[str]:
        raise PermissionError(f"s3:ListBucketMultipartUploads of {folder} for {len(keys)} files")


class OthersAreFaster(BucketClient):
    """A process that stops uploads which another carrier has completed after this one has looked."""

    def abort_uploads(self, folder: str, keys: Collection[str]) -> frozenset[str]:
        for upload in list(self.bucket.uploads):
            self.bucket.complete(upload)
        return super().abort_uploads(folder, keys)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


@pytest.fixture
def store(bucket: Bucket) -> BucketClient:
    return client(bucket)


def client(bucket: Bucket, *troubles: Trouble) -> BucketClient:
    """Return the store of a process whose requests meet these troubles."""
    return BucketClient(bucket, Line(troubles, [], Process(lambda: None)))


def prepared(bucket: Bucket, execution: str, *names: str, remove: tuple[str, ...] = ()) -> Intent:
    """Upload files that are to appear, and return the intent with them."""
    add, folder = tuple(f"{name}-{execution}" for name in names), inside_bucket(TARGET, execution)
    files = tuple(
        DeferredFile(key=f"{TARGET}/{name}", bytes=1, ticket=bucket.upload(f"{TARGET}/{name}", b"x")) for name in add
    )
    client(bucket).put(files_document(folder), to_json(DeferredFiles(files=files)).encode())
    return Intent(
        number=0,
        identity=RunIdentity.own("p", execution),
        plan_id="plan",
        operator_id=OperatorId("ab" * 16),
        execution_id=execution,
        target=TARGET,
        prepared=folder,
        columns=(),
        add=add,
        remove=remove,
        replaces=(WHOLE,),
        rows=0,
        bytes=0,
    )


def there(bucket: Bucket) -> set[str]:
    return {key.removeprefix(f"{TARGET}/") for key in bucket.objects if "/.graph" not in key}


def taken(carrier: Iterator[None], most: int) -> None:
    for _ in range(most):
        next(carrier, None)


@pytest.mark.parametrize("done", range(MOST_STEPS))
def test_a_carrier_that_dies_is_followed_by_another(bucket: Bucket, store: BucketClient, done: int) -> None:
    old = prepared(bucket, "e0", "d=1/a", "b")
    carry_out(UploadedFiles(old, store))
    intent = prepared(bucket, "e1", "d=1/a", "d=2/c", remove=old.add)
    taken(steps(UploadedFiles(intent, store), "c"), done)
    assert there(bucket) >= set(old.add) or there(bucket) >= set(intent.add)
    carry_out(UploadedFiles(intent, store))
    carry_out(UploadedFiles(intent, store))  # repeating it changes nothing
    assert there(bucket) == set(intent.add) == {name[15:] for name in bucket.objects}


@pytest.mark.parametrize("done", range(1, MOST_STEPS))
def test_a_carrier_that_wakes_after_a_later_publication_changes_nothing(
    bucket: Bucket, store: BucketClient, done: int
) -> None:
    intent = prepared(bucket, "e1", "a", "d=2/c")
    sleeps = steps(UploadedFiles(intent, store), "c")
    taken(sleeps, done)
    carry_out(UploadedFiles(intent, store))
    later = prepared(bucket, "e2", "a", remove=intent.add)
    carry_out(UploadedFiles(later, store))
    with suppress(PublicationConflictError):  # it notices, unless it has looked before
        taken(sleeps, MOST_STEPS)
    assert there(bucket) == set(later.add)


def test_what_is_given_up_is_aborted_and_what_has_appeared_is_removed(bucket: Bucket, store: BucketClient) -> None:
    intent = prepared(bucket, "e1", "a", "b")
    bucket.complete("upload-1")
    store.delete(files_document(intent.prepared))
    with pytest.raises(PublicationConflictError, match="is gone from"):
        carry_out(UploadedFiles(intent, store), lambda: True)
    assert there(bucket) == set()
    assert bucket.uploads == {}


def test_without_permission_to_list_uploads_they_are_left(bucket: Bucket, store: BucketClient) -> None:
    intent = prepared(bucket, "e1", "a", "b")
    bucket.complete("upload-1")
    store.delete(files_document(intent.prepared))
    with pytest.raises(PublicationConflictError):
        carry_out(UploadedFiles(intent, MayNotList(bucket, store.line)), lambda: True)
    assert there(bucket) == set()
    assert list(bucket.uploads) == ["upload-2"]


def test_what_others_have_ended_is_left_as_it_is(bucket: Bucket, store: BucketClient) -> None:
    intent = prepared(bucket, "e1", "a", "b")
    bucket.complete("upload-1")
    store.delete(files_document(intent.prepared))
    with pytest.raises(PublicationConflictError):
        carry_out(UploadedFiles(intent, store), lambda: False)
    assert there(bucket) == {"a-e1"}


def test_new_files_stay_if_one_of_them_is_removed_when_old_ones_are_gone(bucket: Bucket, store: BucketClient) -> None:
    old = prepared(bucket, "e0", "a")
    carry_out(UploadedFiles(old, store))
    intent = prepared(bucket, "e1", "a", "b", remove=old.add)
    carry_out(UploadedFiles(intent, store))
    bucket.delete([f"{TARGET}/a-e1"])
    with pytest.raises(PublicationConflictError):
        carry_out(UploadedFiles(intent, store), lambda: True)
    assert there(bucket) == {"b-e1"}


def test_a_carrier_whose_uploads_others_have_stopped_removes_what_has_appeared(
    bucket: Bucket, store: BucketClient
) -> None:
    old = prepared(bucket, "e0", "a")
    carry_out(UploadedFiles(old, store))
    intent = prepared(bucket, "e1", "a", "b", remove=old.add)
    sleeps = steps(UploadedFiles(intent, store), "sleeps", lambda: True)
    taken(sleeps, 1)  # it knows the files
    bucket.complete(next(iter(bucket.uploads)))
    store.delete(files_document(intent.prepared))
    taken(steps(UploadedFiles(intent, store), "dies", lambda: True), 2)
    assert bucket.uploads == {}
    with pytest.raises(PublicationConflictError):
        taken(sleeps, MOST_STEPS)
    assert there(bucket) == set(old.add)


def test_files_that_appear_just_before_they_are_stopped_are_published(bucket: Bucket, store: BucketClient) -> None:
    old = prepared(bucket, "e0", "a")
    carry_out(UploadedFiles(old, store))
    intent = prepared(bucket, "e1", "a", "b", remove=old.add)
    store.delete(files_document(intent.prepared))
    carry_out(UploadedFiles(intent, OthersAreFaster(bucket, store.line)), lambda: True)
    assert there(bucket) == set(intent.add)


def test_a_store_that_does_not_answer_leaves_it_to_the_next_carrier(bucket: Bucket) -> None:
    intent = prepared(bucket, "e1", "a", "b")
    silent = client(bucket, Trouble("503 before", "complete", 1))
    with pytest.raises(PublicationPendingError, match="To give it up, remove"):
        carry_out(UploadedFiles(intent, silent))
    carry_out(UploadedFiles(intent, client(bucket)))
    assert there(bucket) == set(intent.add)


def test_folders_of_objects_are_only_names(store: BucketClient) -> None:
    store.put(f"{TARGET}/x", b"1")
    store.make_folder(TARGET)
    store.discard_empty(TARGET)
    digest = store.digest(f"{TARGET}/x")
    assert digest is not None
    assert store.why_differs(f"{TARGET}/x", digest) is None
    assert store.why_differs(f"{TARGET}/x", "other") == f"its ETag is {digest}, not other"
    assert store.why_damaged(f"{TARGET}/x") is None
    assert not store.is_open_to_group(TARGET)
    for call in (store.move, store.exchange):
        with pytest.raises(NotImplementedError):
            call(TARGET, f"{TARGET}-2")


@pytest.mark.parametrize(
    ("one", "other", "meet", "contains"),
    [
        ("s3a://lake/a", "s3a://lake/a/b", True, True),
        ("s3a://lake/a/", "s3://lake//a", True, True),
        ("s3a://lake/a", "s3a://lake/ab", False, False),
        ("s3a://lake/a", "s3a://other/a", False, False),
        ("s3a://lake/out/day", "s3a://lake/*/day=[12]", False, False),
        ("s3a://lake/out/day=1", "s3a://lake/*/day=[12]", True, False),
        ("s3a://lake/out", "s3a://lake/{in,out}/x", True, False),
        ("s3a://lake/out", "s3a://lake/[^o]ut/x", False, False),
    ],
)
def test_places_in_buckets_meet_by_their_names(one: str, other: str, meet: bool, contains: bool) -> None:
    first, second = StorePlace.of(one), StorePlace.of(other)
    assert first is not None
    assert second is not None
    assert (first.meets(second), second.meets(first)) == (meet, meet)
    assert first.contains(second) is contains


def test_what_is_not_in_a_store_has_no_place_there() -> None:
    assert [StorePlace.of(uri) for uri in ("/out", "file:///out", "s3a://")] == [None] * 3
