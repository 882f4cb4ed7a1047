"""Runs that add themselves to what their target held before them, in any order and with kills; without Spark.

The rows of a target are the runs that it contains: each run that has published is in them once, or something was lost.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from graph_compiler.declaration.operators import Backfill
from graph_compiler.declaration.retention import Retention
from graph_compiler.deployment.documents.descriptor import (
    ExecutionAttempt,
    RegionDescriptor,
    ResultDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import VERSION, Manifest, PreviousRead
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DecisionLostError, PreviousVersionError, SourceChangedError
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.previous_versions import (
    TargetVersions,
    copies,
    oldest,
    refuse_changed,
    run_date_of,
)
from graph_compiler.staging.publications.publications import WHOLE, Intent, Publication
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.in_memory_store import InMemoryStore

TARGET = "/data/totals"
SINK = OperatorId("ab" * 16)
RESULT = ResultDescriptor(
    id=IntermediateDataSetId("cbc357cc-0"),
    node_id=1,
    output_tag=None,
    fingerprint="print",
    partitions=None,
    consumers=(),
    is_compared=False,
    deterministic=False,
)
Rows = Counter[str]


@dataclass
class Disk:
    """A target's rows, and what executions have prepared and staged, by execution."""

    rows: Rows = field(default_factory=Counter)
    prepared: dict[str, Rows] = field(default_factory=dict)
    staged: dict[str, Rows] = field(default_factory=dict)


def ledger_of(store: InMemoryStore, run_id: str, date: str | None) -> Ledger:
    layout = StagingLayout(root="/staging", identity=RunIdentity.own("p", run_id))
    return Ledger(store=store, layout=layout, plan_id="plan", run_date=date)


def intent_of(ledger: Ledger, number: int, execution_id: str) -> Intent:
    return Intent(
        number=number,
        identity=ledger.layout.identity,
        plan_id="plan",
        operator_id=SINK,
        execution_id=execution_id,
        target=TARGET,
        rows=1,
        bytes=1,
        run_date=ledger.run_date,
        prepared=f"/data/.totals/{execution_id}",
        columns=(),
        add=(execution_id,),
        remove=(),
        replaces=(WHOLE,),
    )


@dataclass
class Run:
    """A run of one task: a region that reads the previous version, and one that adds the run and publishes."""

    name: str
    date: str | None
    backfill: Backfill
    store: InMemoryStore
    disk: Disk
    tries: int = 0
    is_done: bool = False
    is_refused: bool = False
    keeps: bool = True
    steps: Iterator[str] | None = None

    @property
    def ledger(self) -> Ledger:
        return ledger_of(self.store, self.name, self.date)

    def carry_out(self, publication: Publication) -> None:
        if self.ledger.is_open(publication):
            self.disk.rows = Counter(self.disk.prepared[publication.execution_id])
        self.ledger.finish(publication)

    def begin(self) -> None:
        self.tries += 1
        self.steps = self._execution(f"{self.name}-{self.tries}")

    def _execution(self, execution_id: str) -> Iterator[str]:
        """Go through an execution; whatever is between two steps may happen at the same time."""
        ledger = self.ledger
        log = ManifestLog(store=self.store, layout=ledger.layout)
        kept = self._kept(log) if self.keeps else None
        if kept is None:
            epoch = log.next_epoch(RESULT.id)
            number = ledger.finish_open(TARGET, self.carry_out, execution_id)
            yield "settled"
            versions = TargetVersions(ledger=ledger, target=TARGET, number=number)
            is_copy = versions.is_own()
            if is_copy:
                read, rows = self._copy(log, versions)
            else:
                versions.refuse_backfill(self.backfill)
                read = PreviousRead(target=TARGET, number=number, region_id=RegionId("before"))
                rows = Counter(self.disk.rows)
            yield "read"
            self.disk.staged[execution_id] = rows
            if not is_copy:
                refuse_changed(ledger, read)
            kept = log.commit(manifest_of(execution_id, epoch, read))
            yield "staged"
        number = ledger.settle(TARGET, SINK, self.carry_out, execution_id)
        yield "claimed"
        (read,) = kept.previous
        TargetVersions(ledger=ledger, target=TARGET, number=number).refuse_base(read, None)
        self.disk.prepared[execution_id] = self.disk.staged[kept.attempt.execution_id] + Counter([self.name])
        intent = intent_of(ledger, number, execution_id)
        yield "prepared"
        ledger.decide(intent)
        yield "decided"
        self.carry_out(intent)
        self.is_done = True

    def _kept(self, log: ManifestLog) -> Manifest | None:
        latest = log.latest(RESULT.id)
        if latest is None or latest.attempt.execution_id not in self.disk.staged:
            return None
        (read,) = latest.previous
        number = self.ledger.records.next_number(TARGET)
        versions = TargetVersions(ledger=self.ledger, target=TARGET, number=number)
        return latest if versions.why_read_again(read) is None else None

    def _copy(self, log: ManifestLog, versions: TargetVersions) -> tuple[PreviousRead, Rows]:
        for manifest, read in copies(log, RESULT, TARGET):
            versions.refuse_base(read, None)
            if manifest.attempt.execution_id in self.disk.staged:
                return read, self.disk.staged[manifest.attempt.execution_id]
        raise PreviousVersionError("the copy is lost")


def manifest_of(execution_id: str, epoch: int, read: PreviousRead) -> Manifest:
    return Manifest(
        version=VERSION,
        result_id=RESULT.id,
        epoch=epoch,
        parent_epoch=None,
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=0),
        plan_id="plan",
        fingerprint=RESULT.fingerprint,
        location=f"/staging/{execution_id}",
        schema="{}",
        partitions=(),
        checksum=None,
        contracts=(),
        previous=(read,),
    )


class PreviousVersionsMachine(RuleBasedStateMachine):
    """Several runs at once, killed and cleared at any step, with dates in any order."""

    DATES: ClassVar = [f"2024-01-0{day}T00:00:00+00:00" for day in range(1, 5)]

    def __init__(self) -> None:
        super().__init__()
        self.store, self.disk = InMemoryStore(), Disk()
        self.runs: list[Run] = []

    @property
    def published(self) -> Rows:
        """Return the runs with a publication that is decided and carried out."""
        records = ledger_of(self.store, "any", None).records
        _, ended = records.numbers(TARGET)
        return Counter({records.publication(TARGET, number).identity.run_id: 1 for number in ended})

    @rule(day=st.sampled_from([*DATES, None]), backfill=st.sampled_from(Backfill))
    @precondition(lambda self: len(self.runs) < 4)
    def new_run(self, day: str | None, backfill: Backfill) -> None:
        run = Run(f"r{len(self.runs)}", day, backfill, self.store, self.disk)
        self.runs.append(run)
        run.begin()

    @rule(data=st.data(), steps=st.integers(1, 8))
    @precondition(lambda self: self.runs)
    def go_on(self, data: st.DataObject, steps: int) -> None:
        run = data.draw(st.sampled_from(self.runs))
        for _ in range(steps):
            self.step(run)

    @rule(data=st.data())
    @precondition(lambda self: self.runs)
    def kill_or_clear(self, data: st.DataObject) -> None:
        """Begin another execution: a retry keeps what was staged, a clear or a deleted run does not."""
        run = data.draw(st.sampled_from(self.runs))
        run.keeps = data.draw(st.booleans())
        run.is_done = run.is_refused = False
        run.begin()

    @rule(data=st.data())
    @precondition(lambda self: self.disk.staged)
    def lose_a_copy(self, data: st.DataObject) -> None:
        lost = data.draw(st.sampled_from(sorted(self.disk.staged)))
        run = next(run for run in self.runs if run.name == lost.partition("-")[0])
        run.begin()  # the one that has read it dies, too
        del self.disk.staged[lost]

    def step(self, run: Run) -> None:
        assert run.steps is not None
        before = self.date_limit(run)
        try:
            found = next(run.steps, None)
        except (DecisionLostError, SourceChangedError):
            run.keeps = True
            run.begin()  # Airflow's retry
        except PreviousVersionError:
            run.is_refused = True
            run.steps = iter(())
        else:
            if found == "staged" and run.backfill is Backfill.REFUSE and run.date and not self.published[run.name]:
                assert before is None or before < run.date

    def date_limit(self, run: Run) -> str | None:
        """Return the date of the last publication by another run that has one."""
        records = ledger_of(self.store, "any", None).records
        decided, _ = records.numbers(TARGET)
        found = [records.publication(TARGET, number) for number in sorted(decided)]
        dates = [one.run_date for one in found if one.run_date and one.identity.run_id != run.name]
        return dates[-1] if dates else None

    @invariant()
    def each_run_is_in_the_target_once(self) -> None:
        assert self.disk.rows == self.published

    def teardown(self) -> None:
        for run in self.runs:
            for _ in range(40):
                if run.is_done or run.is_refused:
                    break
                self.step(run)
            assert run.is_done or run.is_refused
            self.each_run_is_in_the_target_once()
            assert not run.is_done or self.disk.rows[run.name] == 1


def test_runs_of_one_target_lose_and_double_nothing() -> None:
    run_state_machine_as_test(
        PreviousVersionsMachine, settings=settings(max_examples=60, stateful_step_count=25, deadline=None)
    )


def publish(store: InMemoryStore, run_id: str, date: str | None) -> None:
    ledger = ledger_of(store, run_id, date)
    number = ledger.records.next_number(TARGET)
    intent = intent_of(ledger, number, f"{run_id}-1")
    ledger.decide(intent)
    ledger.finish(intent)


def versions_for(store: InMemoryStore, run_id: str, date: str | None) -> TargetVersions:
    ledger = ledger_of(store, run_id, date)
    return TargetVersions(ledger=ledger, target=TARGET, number=ledger.records.next_number(TARGET))


@pytest.mark.parametrize(
    ("published", "mine", "is_refused"),
    [
        (["2024-01-01"], "2024-01-02", False),
        (["2024-01-02"], "2024-01-02", True),
        (["2024-01-03"], "2024-01-02", True),
        (["2024-01-03", None], "2024-01-02", True),
        ([None], "2024-01-02", False),
        (["2024-01-03"], None, False),
        (["2024-01-03", "2024-01-01"], "2024-01-02", False),
        (["2024-01-02T01:00:00+02:00"], "2024-01-01T23:30:00+00:00", False),
        (["2024-01-02T01:00:00+02:00"], "2024-01-01T22:30:00+00:00", True),
        (["2024-01-01T23:00:00+00:00"], "2024-01-02", False),
        (["no date"], "2024-01-02", False),
    ],
)
def test_a_run_is_refused_if_a_later_one_has_published(
    published: list[str | None], mine: str | None, is_refused: bool
) -> None:
    store = InMemoryStore()
    for number, date in enumerate(published):
        publish(store, f"r{number}", date)
    versions = versions_for(store, "mine", mine)
    versions.refuse_backfill(Backfill.LATEST)
    if not is_refused:
        versions.refuse_backfill(Backfill.REFUSE)
        return
    with pytest.raises(PreviousVersionError, match="the version before this date is gone"):
        versions.refuse_backfill(Backfill.REFUSE)


def test_records_of_earlier_versions_have_no_date_and_are_read() -> None:
    store = InMemoryStore()
    publish(store, "old", None)
    ledger = ledger_of(store, "mine", "2024-01-01")
    key = ledger.layout.intent(TARGET, 0)
    content = store.get(key)
    assert content is not None
    assert b"run_date" not in content
    versions = versions_for(store, "mine", "2024-01-01")
    versions.refuse_backfill(Backfill.REFUSE)
    found = versions.other_since(0)
    assert found is not None
    assert found.words == "run 'old' of 'p'"


def test_an_unreadable_record_counts_as_one_of_another_run() -> None:
    store = InMemoryStore()
    publish(store, "other", "2024-01-01")
    ledger = ledger_of(store, "mine", "2024-01-02")
    key = ledger.layout.intent(TARGET, 0)
    store.delete(key)
    store.put_if_absent(key, b"{")
    read = PreviousRead(target=TARGET, number=0, region_id=RegionId("before"))
    with pytest.raises(DecisionLostError, match="run '\\?' of '\\?' has published"):
        versions_for(store, "mine", "2024-01-02").refuse_base(read, None)


def test_a_version_that_others_replace_while_it_is_read_is_not_staged() -> None:
    store = InMemoryStore()
    publish(store, "first", "2024-01-01")
    versions = versions_for(store, "mine", "2024-01-03")
    read = PreviousRead(target=TARGET, number=versions.number, region_id=RegionId("before"))
    refuse_changed(versions.ledger, read)
    other = ledger_of(store, "other", "2024-01-02")
    other.decide(intent_of(other, 1, "other-1"))  # its files may be there in part
    with pytest.raises(SourceChangedError, match="the next attempt reads again"):
        refuse_changed(versions.ledger, read)


@pytest.mark.parametrize(
    ("logical_date", "try_number", "day", "expected"),
    [
        ("2024-01-01T00:00:00+00:00", 1, "2024-01-01", "2024-01-01T00:00:00+00:00"),
        (None, 1, "2024-01-01", None),
        (None, None, "2024-01-01", "2024-01-01"),
        (None, None, 20240101, None),
        ("yesterday", 1, "2024-01-01", None),
    ],
)
def test_the_date_of_a_run(
    logical_date: str | None, try_number: int | None, day: str | int, expected: str | None
) -> None:
    task = TaskDeploymentDescriptor(
        version=1,
        identity=RunIdentity.own("p", "r"),
        region=RegionDescriptor(
            pipeline="p",
            plan_id="plan",
            region_id=RegionId("before"),
            vertices=(),
            results=(RESULT,),
            session=(),
            resource_profile=None,
            retention=Retention(),
        ),
        attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
        staging_root="/staging",
        parameters=(("run_date", day),),
        logical_date=logical_date,
        try_number=try_number,
    )
    assert run_date_of(task) == expected


def test_files_of_a_publication_that_was_given_up_count_as_published() -> None:
    store = InMemoryStore()
    ledger = ledger_of(store, "mine", "2024-01-01")
    intent = intent_of(ledger, 0, "mine-1")
    ledger.decide(intent)
    ledger.give_up(intent)
    versions = versions_for(store, "mine", "2024-01-01")
    assert not versions.is_own(frozenset({"others"}))
    assert versions.is_own(frozenset(intent.add))


def test_what_is_computed_from_two_versions_has_the_base_of_the_older() -> None:
    reads = [
        PreviousRead(target=target, number=n, region_id=RegionId("b"))
        for target, n in (("/b", 3), ("/a", 5), ("/b", 2))
    ]
    assert [(read.target, read.number) for read in oldest(reads)] == [("/a", 5), ("/b", 2)]


def test_a_manifest_without_previous_versions_is_written_as_before() -> None:
    read = PreviousRead(target=TARGET, number=0, region_id=RegionId("b"))
    manifest = manifest_of("e", 0, read)
    assert manifest.is_previous_version
    assert "previous" not in to_json(replace(manifest, previous=()))
