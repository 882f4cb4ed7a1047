"""Which publications of a target have no records any more: those of streams, which are batches of long ago.

A stream publishes for years, some thousand batches a day, and a record of each would fill the ledger's folder. No run
asks for a batch that Spark cannot repeat: of each stream, the ledger keeps the records of its last batches. Of the
others it keeps the numbers, in `<k>.folded.json`. The last one counts, and has what the ones before it had.

    put the numbers in document k + 1    only one process can; another one folds later
    remove the records                   first what was decided, then that it is done: in between, it is not open
    remove document k                    a reader that does not find it any more looks for the last one again
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore

FOLDED_AFTER = 100
"""How many later batches a stream has published when a record is folded. Spark's logs have that many, too."""
_VERSION = 1
_NAME = re.compile(r"([1-9][0-9]{0,8})\.folded\.json", re.ASCII)
_LOOKS = 5
_DIGEST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedBatches:
    """The numbers of publications whose records are folded, as ranges that do not touch, with both ends."""

    version: int = _VERSION
    ranges: tuple[tuple[int, int], ...] = ()

    def __contains__(self, number: int) -> bool:
        """Whether the record of a publication is folded."""
        return self.first_of(number) is not None

    def first_of(self, number: int) -> int | None:
        """Return the first number of the range that has a number, None if no range has it."""
        return next((first for first, last in self.ranges if first <= number <= last), None)

    def with_more(self, numbers: Iterable[int]) -> FoldedBatches:
        """Return the same with other numbers, too."""
        ranges: list[tuple[int, int]] = []
        for first, last in sorted(chain(self.ranges, ((number, number) for number in numbers))):
            if ranges and first <= ranges[-1][1] + 1:
                ranges[-1] = ranges[-1][0], max(last, ranges[-1][1])
            else:
                ranges.append((first, last))
        return FoldedBatches(ranges=tuple(ranges))


def batch_name(stream_id: str, number: int, plan: bytes) -> str:
    """Return what records call a batch of a stream; `plan` is what Spark has logged when it planned it."""
    return f"{stream_id}/{number}@{hashlib.sha256(plan).hexdigest()[:_DIGEST]}"


def batch_of(batch: object) -> tuple[str, int] | None:
    """Return the stream of a batch and its number in it, by what a record has; None for that of a run."""
    stream, _, number = str(batch or "").partition("@")[0].rpartition("/")
    return (stream, int(number)) if stream and number.isdecimal() else None


def were_planned_apart(one: object, other: object) -> bool:
    """Whether two batches of one number are known to be different: one that is repeated has its first plan."""
    plans = [str(batch or "").partition("@")[2] for batch in (one, other)]
    return all(plans) and plans[0] != plans[1]  # records of earlier versions have none


def folded_batches(store: StagingStore, folder: str) -> FoldedBatches:
    """Return what is folded of the ledger in a folder; raises DamagedDocumentError if that cannot be read."""
    return _last(store, folder)[1]


def put_folded(store: StagingStore, folder: str, numbers: Iterable[int]) -> bool:
    """Record that the records of these numbers are folded; False if another process has folded meanwhile."""
    last, found = _last(store, folder)
    if not store.put_if_absent(_key(folder, last + 1), to_json(found.with_more(numbers)).encode()):
        return False
    if last:
        store.delete(_key(folder, last))
    return True


def _last(store: StagingStore, folder: str) -> tuple[int, FoldedBatches]:
    """Return the last document and its number, 0 before the first one."""
    for _ in range(_LOOKS):
        names = (_NAME.fullmatch(key.rpartition("/")[2]) for key in store.keys(folder))
        number = max((int(name[1]) for name in names if name), default=0)
        if not number:
            return 0, FoldedBatches()
        found = get_document(store, _key(folder, number), FoldedBatches, version=_VERSION)
        if found is not None:
            return number, found
    raise DamagedDocumentError(_key(folder, number), "was there, and is gone")


def _key(folder: str, number: int) -> str:
    return f"{folder}/{number}.folded.json"
