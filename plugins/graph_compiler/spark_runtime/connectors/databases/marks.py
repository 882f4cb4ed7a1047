"""The record of finished decisions, written in the transaction of the rows, so that both exist or neither.

    graph_compiler_publications     in the schema of the target
    mark          outcome      target  pipeline  run_id  execution_id  marked_at
    5f0c…         published    …
    91ab…         given up     …

A mark is a primary key, so it can be inserted only once: if an execution tries to carry out the same decision again, or
to give it up, the database refuses, and the execution reads the outcome. Publication numbers cannot be used instead:
every staging root has its own.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.databases.resolving import is_there
from graph_compiler.spark_runtime.connectors.databases.sql_errors import database_words, is_refusal
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError
from graph_compiler.staging.publications.publications import Publication

MARKS = "graph_compiler_publications"
_COLUMNS = (
    "mark VARCHAR(64) NOT NULL PRIMARY KEY, outcome VARCHAR(16) NOT NULL, target VARCHAR(64) NOT NULL, "
    "pipeline VARCHAR(250), run_id VARCHAR(250), execution_id VARCHAR(250), marked_at VARCHAR(40)"
)
_UNUSUAL = re.compile(r"[^\w.:@+/ -]", re.ASCII)


class MarkOutcome(StrEnum):
    """The outcome of a decision."""

    PUBLISHED = "published"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The table of marks in one schema, by its SQL name."""

    database: Database
    table: str

    def make_ready(self) -> None:
        """Create the table if needed, and test a mark: missing privileges are reported before any row is moved.

        Raises PublicationError if the database refuses, and the driver's error for any other problem.
        """
        try:
            if not self._is_there():
                self._create()
            probe = _insert(self.table, "-", MarkOutcome.GIVEN_UP, ("-",) * 4)
            self.database.execute([probe], is_kept=False)
            self.outcome("-")
        except Py4JJavaError as error:
            if not is_refusal(error):
                raise
            raise PublicationError(
                f"it cannot record in {self.table} what it has published: {database_words(error)}\n"
                f"  allowed: rights to CREATE it, or to SELECT and INSERT where it is there\n"
                f"  hint: CREATE TABLE {self.table} ({_COLUMNS})"
            ) from None

    def outcome(self, mark: str) -> MarkOutcome | None:
        """Return the outcome of a decision, None if it is not finished; raises the driver's errors."""
        found = self.database.texts(f"SELECT outcome FROM {self.table} WHERE mark = '{mark}'")
        return MarkOutcome(found[0]) if found else None

    def statement(self, publication: Publication, mark: str, outcome: MarkOutcome) -> str:
        """Return the statement that inserts a mark; it fails if the mark exists."""
        target = hashlib.sha256(publication.target.encode()).hexdigest()
        run = publication.identity
        whose = (run.owner, run.run_id, publication.execution_id)
        return _insert(self.table, mark, outcome, (target, *whose))

    def give_up(self, publication: Publication, mark: str) -> MarkOutcome:
        """Decide that it will not be carried out; return PUBLISHED if another execution has already done it."""
        try:
            self.database.execute([self.statement(publication, mark, MarkOutcome.GIVEN_UP)])
        except Py4JJavaError:
            found = self.outcome(mark)
            if found is None:
                raise
            return found
        return MarkOutcome.GIVEN_UP

    def _create(self) -> None:
        try:
            self.database.execute([f"CREATE TABLE {self.table} ({_COLUMNS})"])
        except Py4JJavaError:
            if not self._is_there():  # otherwise, another driver has created it in the meantime
                raise

    def _is_there(self) -> bool:
        return is_there(self.database, self.table)


def _insert(table: str, mark: str, outcome: MarkOutcome, whose: tuple[str, ...]) -> str:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    values = (mark, outcome.value, *(_UNUSUAL.sub("_", text)[:250] for text in whose), now)
    listed = ", ".join(f"'{value}'" for value in values)
    names = "mark, outcome, target, pipeline, run_id, execution_id, marked_at"
    return f"INSERT INTO {table} ({names}) VALUES ({listed})"
