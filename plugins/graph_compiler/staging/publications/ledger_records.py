"""The numbered records of a target's ledger in the staging root, some of which may be unreadable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath

from graph_compiler.deployment.documents.run_identity import with_identity
from graph_compiler.deployment.documents.staging_layout import DONE, INTENT, StagingLayout
from graph_compiler.errors import DamagedDocumentError, OtherVersionError
from graph_compiler.identifiers import listing
from graph_compiler.staging.publications.publications import GIVEN_UP, Publication
from graph_compiler.staging.store.read_document import decode_object, get_document
from graph_compiler.staging.store.staging_store import StagingStore

GONE = "is gone"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_COMMON: Mapping[str, type] = {"identity": dict} | dict.fromkeys(
    ("plan_id", "operator_id", "execution_id", "target"), str
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRecords:
    """The decided publications of targets, by number.

    Reading a record raises DamagedDocumentError if it is no longer readable (`why` is GONE if it does not exist),
    OtherVersionError if another version of this program can read it.
    """

    store: StagingStore
    layout: StagingLayout

    def numbers(self, target: str) -> tuple[frozenset[int], frozenset[int]]:
        """Return the numbers of decided publications, and those of finished or given-up ones."""
        names = [PurePath(key).name for key in self.store.keys(self.layout.publications(target))]
        return _numbered(names, INTENT), _numbered(names, DONE)

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
        key = self.layout.intent(target, number)
        content = self.store.get(key)
        if content is None:
            raise DamagedDocumentError(key, GONE)
        document = with_identity(decode_object(content, key))
        if missing := [
            name for name, kind in _COMMON.items() if not isinstance(document.get(name), kind)
        ]:
            if isinstance(document.get("type"), str):
                raise self._of_another_version(target, number, f"it has no {listing(missing)}")
            raise DamagedDocumentError(key, f"has no {listing(missing)}")
        return document

    def explained(self, target: str, before: int) -> frozenset[str]:
        """Return the executions whose publications to a target are readable."""
        found = set()
        for number in range(before):
            with suppress(DamagedDocumentError):
                found.add(str(self.document(target, number)["execution_id"]))
        return frozenset(found)

    def holds(self, publication: Publication) -> bool:
        """Whether the record of a publication is still the decided one."""
        try:  # not by its bytes: a record of an earlier version has fewer fields
            return self.publication(publication.target, publication.number) == publication
        except (DamagedDocumentError, OtherVersionError):
            return False

    def _of_another_version(self, target: str, number: int, why: str) -> OtherVersionError:
        done = self.layout.done(target, number)
        return OtherVersionError(
            self.layout.intent(target, number),
            why,
            f"give it up: echo '{GIVEN_UP.decode()}' > '{done}'",
        )


def _numbered(names: list[str], ending: str) -> frozenset[int]:
    stems = (name.removesuffix(ending) for name in names if name.endswith(ending))
    return frozenset(int(stem) for stem in stems if _NUMBER.fullmatch(stem))
