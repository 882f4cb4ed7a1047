"""Writers and readers of one staged result, and damage to its files: readers never get other than committed rows.

The model is a list: the rows of each epoch. A reader gets the rows of the last one, or an error that it is lost;
once it has been computed again it is read.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor, StagedInput
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore
from tests.machine.alphabet import drawn
from tests.machine.damage import DAMAGES, damage
from tests.machine.faults import CALLS, KINDS, Died, Fate, Fault
from tests.machine.frames import frame
from tests.machine.model import Row
from tests.machine.seam import meeting
from tests.machine.sink_machine import faults
from tests.machine.store import FatefulStore
from tests.machine.tally import TALLY

RESULT = ResultDescriptor(
    id=IntermediateDataSetId("cbc357cc-0"),
    node_id=1,
    output_tag=None,
    fingerprint="f",
    partitions=None,
    consumers=(),
    is_compared=True,
    deterministic=False,
)
STAGED = StagedInput(id=RESULT.id, fingerprint=RESULT.fingerprint, producer=RegionId("producer"), consumers=())
_IGNORES = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
_FAULTS = faults(KINDS, CALLS, 12)


@dataclass
class Writer:
    """An execution that has begun, and the rows it will stage."""

    area: StagingArea
    rows: tuple[Row, ...]
    fate: Fate
    epoch: int


class StagingMachine(RuleBasedStateMachine):
    """One staged result of one run."""

    session: ClassVar[Callable[[], SparkSession]]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-", dir="/dev/shm"))
        self.layout = StagingLayout(root=str(self.folder), identity=RunIdentity.own("p", "r"))
        self.numbers = itertools.count()
        self.writers: list[Writer] = []
        self.written: dict[str, tuple[Row, ...]] = {}
        self.winners: dict[int, str] = {}
        self.is_whole = True
        self.has_committed = False
        self.damaged: set[int] = set()
        """Epochs whose record or data were damaged: who comes second to one cannot read who was first."""

    @initialize(ignores=st.booleans())
    def begin(self, *, ignores: bool) -> None:
        """Start with an empty root; `ignores`: the cluster is configured to skip unreadable files."""
        TALLY.examples += 1
        for setting in _IGNORES:
            type(self).session().conf.set(setting, str(ignores).lower())

    @rule(count=st.integers(0, 5), fault=_FAULTS)
    @precondition(lambda self: len(self.writers) < 2)
    def begin_writing(self, count: int, fault: Fault | None) -> None:
        """Let an execution begin: from here it knows its epoch."""
        rows = tuple((id, "a", next(self.numbers)) for id in range(count))
        fate = Fate(fault)
        area = self._area(fate)
        try:
            with meeting(fate, self.folder):
                area = area.beginning(RESULT.id)
        except (Died, Exception) as error:
            self._judge(error, fate)
            return
        epoch = area.epochs[RESULT.id]
        self.writers.append(Writer(area, rows, fate, epoch))

    @rule(which=st.integers(0, 1))
    @precondition(lambda self: self.writers)
    def write(self, which: int) -> None:
        """Let it stage its rows, and commit them."""
        writer = self.writers.pop(which % len(self.writers))
        self._write(writer)

    @rule(how=drawn("damage", DAMAGES), where=st.floats(0, 1))
    @precondition(lambda self: self.has_committed)
    def lose(self, how: str, where: float) -> None:
        """Damage the last epoch's data, or its record."""
        latest = self._epochs()
        if latest:
            record = max(latest, key=lambda path: int(path.stem))
            damage(how, where, record, Path(self.layout.run))
            self.damaged.add(int(record.stem))
            self.is_whole = False
            TALLY.tried["staging", "damage", how] += 1

    @rule()
    @precondition(lambda self: self.has_committed)
    def read(self) -> None:
        """Read the last epoch: its rows, or a loss."""
        self._read()

    def teardown(self) -> None:
        """Compute it once more: whatever has happened to it, it must be readable then."""
        try:
            if sys.exc_info()[0] is None and self.has_committed:
                self._end_well()
        finally:
            for setting in _IGNORES:
                type(self).session().conf.unset(setting)
            shutil.rmtree(self.folder, ignore_errors=True)

    def _end_well(self) -> None:
        self._read()
        area = self._area(Fate()).beginning(RESULT.id)
        rows = ((1, "a", next(self.numbers)),)
        self._write(Writer(area, rows, Fate(), area.epochs[RESULT.id]))
        self.is_whole = True
        assert self._read() == sorted(rows)

    def _area(self, fate: Fate) -> StagingArea:
        number = next(self.numbers)
        return StagingArea(
            spark=type(self).session(),
            log=ManifestLog(store=FatefulStore(LocalStore(), fate), layout=self.layout),
            attempt=ExecutionAttempt(execution_id=f"e{number}", attempt_number=number),
            plan_id="plan",
            contracts=tuple,
        )

    def _write(self, writer: Writer) -> None:
        fate = writer.fate
        TALLY.steps += 1
        TALLY.tried["staging", "write", fate.fault.kind if fate.fault else "none"] += 1
        self.written[writer.area.attempt.execution_id] = writer.rows
        newest = max((int(path.stem) for path in self._epochs()), default=-1)
        try:
            with meeting(fate, self.folder):
                winner = writer.area.stage(RESULT, frame(type(self).session(), writer.rows, "part"))
        except (Died, Exception) as error:
            self._judge(error, fate, writer.epoch)
            self.has_committed = bool(self._epochs())
            return
        self.has_committed = True
        assert winner.epoch == writer.epoch, f"it began for {writer.epoch}: {winner.epoch}"
        holder = self.winners.setdefault(winner.epoch, winner.attempt.execution_id)
        assert holder == winner.attempt.execution_id, f"epoch {winner.epoch} has two winners"
        assert winner.rows == len(self.written[winner.attempt.execution_id])
        if winner.attempt == writer.area.attempt and winner.epoch > newest:
            self.is_whole = True

    def _read(self) -> list[Row] | None:
        TALLY.steps += 1
        area = self._area(Fate())
        manifest: Manifest | None = None
        try:
            manifest = area.find(STAGED)
            rows = sorted(tuple(row) for row in area.read(manifest).collect())
        except Exception as error:
            self._check_loss(error if isinstance(error, GraphCompilerError) else area.as_lost(error))
            return None
        committed = sorted(self.written[manifest.attempt.execution_id])
        assert rows == committed, f"read {rows}, and {committed} were committed"
        return [(id, part, number) for id, part, number in rows]

    def _check_loss(self, known: BaseException) -> None:
        assert isinstance(known, GraphCompilerError), f"{type(known).__name__}: {known}"
        assert not self.is_whole, f"nothing is lost, and it says: {known}"

    def _judge(self, error: BaseException, fate: Fate, epoch: int | None = None) -> None:
        if fate.has_struck and fate.fault is not None:
            TALLY.struck[fate.fault.call, fate.fault.kind] += 1
        if isinstance(error, GraphCompilerError) or (isinstance(error, Died) and fate.is_dead):
            may_fail = fate.has_struck or not self.is_whole or self.writers or epoch in self.damaged
            assert may_fail, f"it was refused: {error}"
            return
        assert isinstance(error, OSError), f"it ended with {type(error).__name__}: {error}"
        assert fate.has_struck, f"it ended with {type(error).__name__}: {error}"

    def _epochs(self) -> list[Path]:
        return list(Path(self.layout.manifests(RESULT.id)).glob("*.json"))
