"""Targets whose rows do not show which run wrote them: what a run adds and replaces after its earlier publications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from graph_compiler import program_log
from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors.sink import PreparedSink
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Confirmation, Publication

LOG = program_log.logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedBefore:
    """A sink to which an earlier attempt of this run has already appended its rows: they stay.

    Publishing records that with `confirm`, so that an earlier attempt that wakes up later changes nothing.
    """

    location: str
    confirmation: Confirmation
    confirm: Callable[[Confirmation], None]

    def check(self, rows: DataFrame) -> DataFrame:
        """Return the rows unchanged: they are not written."""
        return rows

    def prepares(self) -> None:
        """Return nothing: no place is prepared."""

    def prepare(self, _: DataFrame) -> PreparedSink:
        """Report and log the rows that are already there."""
        LOG.warning(
            "%s is left as it is: execution %s of this run has appended %s rows, and a run appends once",
            self.location,
            self.confirmation.earlier,
            self.confirmation.rows,
        )
        return PreparedSink(
            location=self.location,
            rows=self.confirmation.rows,
            bytes=self.confirmation.bytes,
            publish=lambda: self.confirm(self.confirmation),
        )

    def discard(self) -> None:
        """Do nothing: nothing was prepared."""


def refuse_rows_of_others(
    name: str,
    own: tuple[Publication, ...],
    ledger: Ledger,
    *,
    target: str,
    before: int,
    count: Callable[[], int],
) -> None:
    """Raise PublicationError if a table that must not exist contains rows of others, as far as is known.

    `own` is what the run has published, `before` the target's next number. Others may write without a ledger; then
    only the number of rows shows it.
    """
    allowed = "allowed: none, since its mode is 'error-if-exists'"
    written = [one for one in own if not isinstance(one, Confirmation)]
    if not written:
        raise PublicationError(f"its target {name} exists\n  {allowed}")
    last = written[-1]
    if ledger.others_since(target, last, before):
        raise PublicationError(
            f"others have published to its target {name} since this run has\n  {allowed}"
        )
    if (found := count()) != last.rows:
        raise PublicationError(
            f"its target {name} holds {counted(found, 'row')}, and this run left {last.rows:,}: others have written "
            f"there since\n  {allowed}"
        )
