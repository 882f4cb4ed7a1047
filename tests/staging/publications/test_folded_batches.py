"""The ledger of a target that streams publish to for years: it stays small, and answers as if it had every record."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.stream import EarlierStream, StreamOrigin
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DecisionLostError, PublicationError
from graph_compiler.staging.publications import ledger as ledgers
from graph_compiler.staging.publications import ledger_records
from graph_compiler.staging.publications.folded_batches import FOLDED_AFTER, FoldedBatches, folded_batches, put_folded
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import GIVEN_UP, WHOLE, Intent, Publication
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from tests.harness.folders import SINK

TARGET = "/out"


def of(store: InMemoryStore, run: str, batch: str | None = None) -> Ledger:
    layout = StagingLayout(root="/staging", identity=RunIdentity.own("p", run))
    return Ledger(store=store, layout=layout, plan_id="plan", batch=batch)


def none_is_open(publication: Publication) -> None:
    raise AssertionError(f"{publication.execution_id} counts as not done, and would be published again")


def publish(ledger: Ledger, execution_id: str, markers: tuple[str, ...] = (), *, is_given_up: bool = False) -> None:
    """Publish as the next publication of a target; or decide, and give it up."""
    intent = Intent(
        number=ledger.settle(TARGET, SINK, none_is_open),
        identity=ledger.layout.identity,
        plan_id="plan",
        operator_id=SINK,
        execution_id=execution_id,
        target=TARGET,
        rows=1,
        bytes=1,
        batch=ledger.batch,
        prepared=f"/prepared/{execution_id}",
        columns=(),
        add=(execution_id,),
        remove=(),
        replaces=(WHOLE,) if ledger.batch is None else (),
        markers=markers,
    )
    ledger.decide(intent)
    if is_given_up:
        ledger.give_up(intent)
    else:
        ledger.finish(intent)


def names(store: InMemoryStore) -> list[str]:
    keys = store.keys(of(store, "r").layout.publications(TARGET))
    return [key.rpartition("/")[2] for key in keys]


def test_the_records_of_a_stream_do_not_grow() -> None:
    store, most = InMemoryStore(), 0
    publish(of(store, "monday"), "first")
    for number in range(5 * FOLDED_AFTER + 1):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")
        most = max(most, len(names(store)))
    assert most <= 2 * (2 * FOLDED_AFTER + 1) + 2, "a record and its end, of two hundred batches and one run"
    assert len(names(store)) == 2 * (FOLDED_AFTER + 1) + 1
    assert [each for each in names(store) if each.endswith("folded.json")] == ["5.folded.json"]
    before = 5 * FOLDED_AFTER + 2
    assert of(store, "r").records.next_number(TARGET) == before
    assert [one.execution_id for one in of(store, "monday").of_this_run(TARGET, SINK, before)] == ["first"]
    assert of(store, "tuesday").of_this_run(TARGET, SINK, before) == ()
    (own,) = of(store, "monday").of_this_run(TARGET, SINK, before)
    assert of(store, "monday").others_since(TARGET, own, 2), "the stream's first batch, whose record is folded"


def test_a_batch_before_the_last_one_is_refused() -> None:
    """Its checkpoint was replaced by an old copy: files that have arrived since are in it, too."""
    store = InMemoryStore()
    for number in range(2 * FOLDED_AFTER + 1):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")
    next_number, last = of(store, "r").records.next_number(TARGET), 2 * FOLDED_AFTER
    (found,) = of(store, "r", f"s/{last}").of_this_run(TARGET, SINK, next_number)
    assert found.execution_id == f"e.{last}"
    for old in (0, FOLDED_AFTER, last - 1):
        with pytest.raises(PublicationError, match="put it back, or begin with a savepoint"):
            of(store, "r", f"s/{old}").of_this_run(TARGET, SINK, next_number)
    done = of(store, "r").layout.done(TARGET, last)
    store.delete(done)
    store.put(done, GIVEN_UP)
    assert of(store, "r", f"s/{last - 1}").of_this_run(TARGET, SINK, next_number), "a person has removed the last one"


def test_a_batch_that_was_planned_again_is_refused() -> None:
    store = InMemoryStore()
    publish(of(store, "r", "s/0"), "by an earlier version")
    publish(of(store, "r", "s/1@monday"), "e.1")
    assert of(store, "r", "s/1@monday").of_this_run(TARGET, SINK, 2)
    assert of(store, "r", "s/1").of_this_run(TARGET, SINK, 2)
    assert of(store, "r", "s/0@monday").of_this_run(TARGET, SINK, 1)
    assert not of(store, "r", "s/2@tuesday").of_this_run(TARGET, SINK, 2)
    assert not of(store, "r", "t/1@tuesday").of_this_run(TARGET, SINK, 2)
    with pytest.raises(PublicationError, match="has batch 1 of the stream, with other rows"):
        of(store, "r", "s/1@tuesday").of_this_run(TARGET, SINK, 2)


def test_a_driver_that_wakes_when_its_number_is_folded_publishes_nothing() -> None:
    store = InMemoryStore()
    sleeper, slept = of(store, "r", "s/5"), 5
    for number in range(slept):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")
    late = replace(own(store, "r", "s/4")[0], number=slept, execution_id="sleeper", batch="s/5")
    for number in range(slept, 2 * FOLDED_AFTER + 1):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")
    assert slept in of(store, "r").records.folded(TARGET)
    with pytest.raises(DecisionLostError):
        sleeper.decide(late)
    with pytest.raises((DecisionLostError, PublicationError)):
        sleeper.decide_behind_others(late, none_is_open)
    # It dies when it has put its decision: the next one removes it, and carries out nothing.
    key = sleeper.layout.intent(TARGET, slept)
    store.put(key, to_json(late).encode())
    assert of(store, "r").settle(TARGET, SINK, none_is_open) == 2 * FOLDED_AFTER + 1
    assert store.get(key) is None


def test_what_is_folded_behind_a_savepoint_is_not_appended_again() -> None:
    """A person has removed the rows of the batches whose records are there, and has said so of each of them."""
    store, batches = InMemoryStore(), 3 * FOLDED_AFTER + 1
    for number in range(batches):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")

    def begins_behind(batch: int) -> None:
        earlier = EarlierStream(owner="p", stream_id="s", batch=batch)
        origin = StreamOrigin(version=1, savepoint_id="x", path="/saved", streams=(earlier,), elsewhere=())
        ledger = replace(of(store, "r", f"t/{batch + 1}"), restored=origin)
        ledger.settle(TARGET, SINK, none_is_open)

    with pytest.raises(PublicationError, match="if you have removed the rows of batch 300"):
        begins_behind(250)
    for number in range(2 * FOLDED_AFTER + 1, batches):
        key = of(store, "r").layout.done(TARGET, number)
        store.delete(key)
        store.put(key, GIVEN_UP)
    begins_behind(2 * FOLDED_AFTER)
    with pytest.raises(PublicationError, match="may have the batches 151 to 200, which are not recorded any more"):
        begins_behind(150)


def test_rows_of_another_stream_from_the_same_savepoint_are_not_appended_again() -> None:
    store, earlier = InMemoryStore(), EarlierStream(owner="p", stream_id="s", batch=5)

    def begins(stream: str, *behind: EarlierStream) -> None:
        origin = StreamOrigin(version=1, savepoint_id="x", path="/saved", streams=behind, elsewhere=())
        first = f"{stream}/{behind[-1].batch + 1}"
        replace(of(store, "r", first), restored=origin).settle(TARGET, SINK, none_is_open)

    for number in range(6):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")
    begins("s-1", earlier)
    publish(of(store, "r", "other/6"), "of another pipeline")
    publish(of(store, "r", "s-1/6"), "one")
    begins("s-1", earlier)  # its first batch is repeated
    begins("s-3", earlier, EarlierStream(owner="p", stream_id="s-1", batch=6))
    with pytest.raises(PublicationError, match="has batch 6 of another stream that began with the savepoint /saved"):
        begins("s-2", earlier)
    done = of(store, "r").layout.done(TARGET, 7)
    store.delete(done)
    store.put(done, GIVEN_UP)
    begins("s-2", earlier)


def test_files_with_columns_only_are_still_known() -> None:
    store = InMemoryStore()
    publish(of(store, "r", "s/0"), "e.0", ("empty-00000-e.0.parquet",))
    for number in range(1, 2 * FOLDED_AFTER + 1):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")
    found = of(store, "r").documents(TARGET, 2 * FOLDED_AFTER + 1)
    assert ["empty-00000-e.0.parquet"] in [each["markers"] for each in found]


def test_of_two_that_fold_at_the_same_time_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = InMemoryStore(), of(InMemoryStore(), "r").layout.publications(TARGET)
    put = InMemoryStore.put_if_absent

    def after_another(self: InMemoryStore, key: str, content: bytes) -> bool:
        monkeypatch.setattr(InMemoryStore, "put_if_absent", put)
        assert put_folded(store, folder, [7])
        return put(self, key, content)

    monkeypatch.setattr(InMemoryStore, "put_if_absent", after_another)
    assert not put_folded(store, folder, [3])
    assert folded_batches(store, folder) == FoldedBatches(ranges=((7, 7),))
    assert put_folded(store, folder, [3, 8])
    assert folded_batches(store, folder) == FoldedBatches(ranges=((3, 3), (7, 8)))


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_ranges_have_the_numbers_that_they_were_given(first: set[int], second: set[int]) -> None:
    folded = FoldedBatches().with_more(first).with_more(second)
    assert {number for number in range(-1, 42) if number in folded} == first | second
    assert all(one[1] + 1 < other[0] for one, other in zip(folded.ranges, folded.ranges[1:], strict=False))


class DyingStore(InMemoryStore):
    """A store whose process dies in one of its deletions."""

    left = 1_000

    def delete(self, key: str) -> bool:
        """Delete, or die."""
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().delete(key)


@dataclass
class Whole:
    """A ledger that keeps every record, and one that folds, with the same publications."""

    whole: InMemoryStore = field(default_factory=InMemoryStore)
    folding: DyingStore = field(default_factory=DyingStore)
    last: dict[str, int] = field(default_factory=dict)

    def publish(self, writer: str, dies_after: int | None, *, is_given_up: bool) -> None:
        """Let the next batch of a stream, or a run, publish to both."""
        batch = None
        if writer.startswith("s"):
            self.last[writer] = self.last.get(writer, -1) + 1
            batch = f"{writer}/{self.last[writer]}"
        execution_id = f"{writer}.{self.last.get(writer, 0)}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ledgers, "FOLDED_AFTER", 10**9)
            publish(of(self.whole, writer, batch), execution_id, is_given_up=is_given_up)
        self.folding.left = 1_000 if dies_after is None else dies_after
        try:
            publish(of(self.folding, writer, batch), execution_id, is_given_up=is_given_up)
        except KeyboardInterrupt:
            self.folding.left = 1_000


WRITERS = ("s1", "s2", "monday", "tuesday")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(WRITERS[:2] * 4 + WRITERS[2:]), st.none() | st.integers(0, 6), st.booleans()),
        min_size=5,
        max_size=60,
    )
)
@example([*[("s1", None, False)] * 6, ("s1", 2, False), ("s1", 0, False)])  # dies between two records of a batch
def test_a_ledger_that_folds_answers_as_one_that_does_not(steps: list[tuple[str, int | None, bool]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledgers, "FOLDED_AFTER", 3)
        patch.setattr(ledger_records, "FOLDED_AFTER", 3)
        both = Whole()
        for writer, dies_after, is_given_up in steps:
            both.publish(writer, dies_after, is_given_up=is_given_up)
        before = len(steps)
        assert of(both.folding, "r").records.next_number(TARGET) == before
        for run in ("monday", "tuesday"):
            assert own(both.folding, run) == own(both.whole, run)
            for found in of(both.whole, run).of_this_run(TARGET, SINK, before):
                since = [of(store, run).others_since(TARGET, found, before) for store in (both.whole, both.folding)]
                assert since[0] <= since[1], "what is folded counts as a change, also if it was given up"
        for stream, last in both.last.items():
            for number in (last, last + 1):
                batch = f"{stream}/{number}"
                assert own(both.folding, "r", batch) == own(both.whole, "r", batch)


def own(store: InMemoryStore, run: str, batch: str | None = None) -> list[Publication]:
    ledger = of(store, run, batch)
    return list(ledger.of_this_run(TARGET, SINK, ledger.records.next_number(TARGET), given_up=True))


def test_what_cannot_be_folded_does_not_fail_what_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    for number in range(FOLDED_AFTER):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")

    def denied(*_: Any) -> Mapping[str, object]:
        raise PermissionError("denied")

    monkeypatch.setattr(ledger_records, "put_folded", denied)
    for number in range(FOLDED_AFTER, 2 * FOLDED_AFTER + 1):
        publish(of(store, "r", f"s/{number}"), f"e.{number}")
    assert len(names(store)) == 2 * (2 * FOLDED_AFTER + 1)
    publication = replace(own(store, "r", f"s/{2 * FOLDED_AFTER}")[0])
    assert not of(store, "r").is_open(publication)
