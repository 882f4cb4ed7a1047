"""The records of a ledger: which publications of a target were decided, and which of them have an end.

<n>.intent.json        what an execution has decided        <n>.done.json    that it is carried out, or given up
<k>.folded.json        which numbers have no records any more
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from graph_compiler.deployment.documents.run_identity import with_identity
from graph_compiler.deployment.documents.staging_layout import DONE, INTENT, StagingLayout
from graph_compiler.errors import DamagedDocumentError, OtherVersionError
from graph_compiler.identifiers import listing
from graph_compiler.staging.publications.folded_batches import (
    FOLDED_AFTER,
    FoldedBatches,
    batch_of,
    folded_batches,
    put_folded,
)
from graph_compiler.staging.publications.publications import GIVEN_UP, Ending, Publication, ending, markers_in
from graph_compiler.staging.store.read_document import decode_object, get_document
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.stores.known_stores import putting

GONE = "is gone"
_READ_ALONE, _READ_AHEAD, _AT_ONCE = 16, 128, 16
"""How many records are read one by one, and then in one go, by how many threads."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_COMMON: Mapping[str, type] = {"identity": dict} | dict.fromkeys(
    ("plan_id", "operator_id", "execution_id", "target"), str
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRecords:
    """The decided publications of targets, by number.

    Reading a record raises DamagedDocumentError if it cannot be read any more (`why` is GONE if it is not there),
    OtherVersionError if another version of this program can read it.
    """

    store: StagingStore
    layout: StagingLayout

    def numbers(self, target: str) -> tuple[frozenset[int], frozenset[int]]:
        """Return the numbers of decided publications, and those of finished or given-up ones."""
        names = [key.rpartition("/")[2] for key in self.store.keys(self.layout.publications(target))]
        return _numbered(names, INTENT), _numbered(names, DONE)

    def next_number(self, target: str) -> int:
        """Return the number of the next publication."""
        return next_number(*self.numbers(target))

    def publication(self, target: str, number: int) -> Publication:
        """Return a publication as its own type."""
        key = self.layout.intent(target, number)
        try:
            found = get_document(self.store, key, Publication, upgrade=with_identity)
        except OtherVersionError as error:
            raise self._of_another_version(target, number, error.why) from None
        if found is None:
            raise DamagedDocumentError(key, GONE)
        return found

    def document(self, target: str, number: int) -> Mapping[str, object]:
        """Return the fields of a publication that all kinds and versions have."""
        return self._decoded(target, number, self._content(target, number))

    def _content(self, target: str, number: int) -> bytes | DamagedDocumentError:
        key = self.layout.intent(target, number)
        try:
            content = self.store.get(key)
        except DamagedDocumentError as error:
            return error
        return DamagedDocumentError(key, GONE) if content is None else content

    def _decoded(self, target: str, number: int, content: bytes | DamagedDocumentError) -> Mapping[str, object]:
        key = self.layout.intent(target, number)
        if isinstance(content, DamagedDocumentError):
            raise content
        document = with_identity(decode_object(content, key))
        if missing := [name for name, kind in _COMMON.items() if not isinstance(document.get(name), kind)]:
            if isinstance(document.get("type"), str):
                raise self._of_another_version(target, number, f"it has no {listing(missing)}")
            raise DamagedDocumentError(key, f"has no {listing(missing)}")
        return document

    def folded(self, target: str) -> FoldedBatches:
        """Return the numbers of publications whose records are folded."""
        return folded_batches(self.store, self.layout.publications(target))

    def fold(self, target: str, batch: tuple[str, int]) -> None:
        """Fold the records of what a stream has published long before a batch.

        Files with columns only are found by their records: these stay.
        """
        stream, last = batch
        decided, ended = self.numbers(target)
        old = []
        for number in sorted(decided & ended):
            with suppress(DamagedDocumentError):
                document = self.document(target, number)
                its_stream, its = batch_of(document.get("batch")) or ("", -1)
                if its_stream == stream and its <= last - FOLDED_AFTER and not markers_in(document):
                    old.append(number)
        if old and put_folded(self.store, self.layout.publications(target), old):
            for number in old:
                self.store.delete(self.layout.intent(target, number))
                self.store.delete(self.layout.done(target, number))

    def newest_first(
        self, target: str, before: int, since: int = 0
    ) -> Iterator[tuple[int, Mapping[str, object] | DamagedDocumentError]]:
        """Yield the numbers below `before` with their records, or why these cannot be read, without folded ones.

        Most readers need the last ones only. Those behind them are read ahead, many at once: a target has thousands,
        and a store answers each request in milliseconds.
        """
        number, folded, contents = before - 1, None, dict[int, bytes | DamagedDocumentError]()
        while number >= since:
            if number not in contents:
                count = 1 if before - number <= _READ_ALONE else _READ_AHEAD
                contents = self._contents(target, range(max(since, number - count + 1), number + 1))
            found: Mapping[str, object] | DamagedDocumentError
            try:
                found = self._decoded(target, number, contents[number])
            except DamagedDocumentError as error:
                found = error
                if error.why == GONE:
                    folded = folded or self.folded(target)
                    if (first := folded.first_of(number)) is not None:
                        number = first - 1
                        continue
            yield number, found
            number -= 1

    def _contents(self, target: str, numbers: range) -> dict[int, bytes | DamagedDocumentError]:
        if len(numbers) == 1:
            return {numbers[0]: self._content(target, numbers[0])}
        from concurrent.futures import ThreadPoolExecutor  # most drivers read few records

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(numbers, pool.map(partial(self._content, target), numbers), strict=True))

    def explained(self, target: str, before: int) -> frozenset[str]:
        """Return the executions whose publications to a target are readable."""
        known = (document for _, document in self.newest_first(target, before))
        return frozenset(str(each["execution_id"]) for each in known if not isinstance(each, DamagedDocumentError))

    def holds(self, publication: Publication) -> bool:
        """Whether the record of a publication is still the decided one."""
        try:  # not by its bytes: a record of an earlier version has fewer fields
            return self.publication(publication.target, publication.number) == publication
        except (DamagedDocumentError, OtherVersionError):
            return False

    def _of_another_version(self, target: str, number: int, why: str) -> OtherVersionError:
        done, otherwise = self.layout.done(target, number), None
        with suppress(DamagedDocumentError):
            if ending(self.store, done) is Ending.OPEN:  # a record of an end must not be replaced
                otherwise = (
                    "give it up, if no driver of it runs and nothing of it is in the target: "
                    f"{putting(GIVEN_UP.decode(), done)}"
                )
        return OtherVersionError(self.layout.intent(target, number), why, otherwise)


def next_number(decided: frozenset[int], ended: frozenset[int]) -> int:
    """Return the number after all known ones: that of a removed intent is not used again."""
    return max(decided | ended, default=-1) + 1


def _numbered(names: list[str], ending: str) -> frozenset[int]:
    stems = (name.removesuffix(ending) for name in names if name.endswith(ending))
    return frozenset(int(stem) for stem in stems if _NUMBER.fullmatch(stem))
