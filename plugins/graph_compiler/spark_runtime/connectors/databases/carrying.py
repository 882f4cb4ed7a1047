"""Carry out a decision: its rows and its mark are written in one transaction. Only the mark shows that it was done.

    staged?  mark?                                    (in this order: the mark is inserted before staged is dropped)
      any    published     done: another execution has carried it out
      any    given up      PublicationConflictError
      no     none          the rows are lost: given up, PublicationConflictError
      yes    none          mark + rows [+ DROP staged], committed together
                             └─ an error, or the answer to COMMIT is lost: look for the mark on a new connection

If the database commits definitions immediately (MySQL, Oracle), a new table is first created empty, and the staged
table is dropped afterwards: neither step shows whether the rows are there.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from graph_compiler import program_log
from graph_compiler.errors import PublicationConflictError, PublicationError
from graph_compiler.spark_runtime.connectors.database import Database, Transaction
from graph_compiler.spark_runtime.connectors.databases.resolving import is_there
from graph_compiler.spark_runtime.connectors.databases.sql_errors import database_words, is_change, is_refusal
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError
from graph_compiler.staging.publications.publications import Publication

LOG = program_log.logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePublication(Publication):
    """What one execution is about to do to a table. The rows come from the table beside it, `staged`. Names are SQL.

    Decisions had this form before marks were introduced: the staged table was dropped in the transaction of the rows.
    """

    table: str
    staged: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    creates: bool
    replaces: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPublication(TablePublication):
    """A publication whose unique `mark` is written with its rows."""

    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a database permanently refuses the rows. `is_change`: its table has changed since it was checked."""

    words: str
    is_change: bool
    keeps_old_rows: bool = False


def marks_of(to: TablePublication, database: Database) -> Marks:
    """Return the table of marks beside a target."""
    schema, dot, _ = to.staged.rpartition(".")
    return Marks(database=database, table=f"{schema}{dot}{MARKS}")


def carry_out(to: TablePublication, database: Database) -> Refusal | None:
    """Carry out a decision, unless it is done; return why the database permanently refuses it, None if it does not.

    Raises PublicationConflictError if the rows are lost or another execution has given the decision up, and the
    driver's errors if the outcome is unknown: the decision stands.
    """
    is_staged = is_there(database, to.staged)
    if not isinstance(to, MarkedPublication):
        return _carry_out_unmarked(to, database) if is_staged else None
    marks = marks_of(to, database)
    outcome = marks.outcome(to.mark)
    if outcome is None and not is_staged:
        outcome = marks.give_up(to, to.mark)
        if outcome is MarkOutcome.GIVEN_UP:
            raise PublicationConflictError(
                f"the rows for {to.table} are lost: {to.staged} is gone, and {marks.table} has no mark that they were "
                "published; the task computes them again"
            )
    if outcome is None:
        try:
            return _run(to, [marks.statement(to, to.mark, MarkOutcome.PUBLISHED)], database)
        except Py4JJavaError as error:
            outcome = marks.outcome(to.mark)
            if outcome is None:
                return _refusal(error)
    if outcome is MarkOutcome.GIVEN_UP:
        raise PublicationConflictError(f"another execution has given up {to.staged}")
    return None


def give_up(to: TablePublication, database: Database) -> bool:
    """Decide that it will not be done; return False if another execution has already done it."""
    if isinstance(to, MarkedPublication):
        outcome = marks_of(to, database).give_up(to, to.mark)
        if outcome is MarkOutcome.PUBLISHED:
            return False
    drop_staged(to, database)
    return True


def drop_staged(to: TablePublication, database: Database) -> None:
    """Drop the table beside the target if it exists; if that fails, log the statement for it."""
    try:
        discard_staged(to, database)
    except Py4JJavaError as error:
        words = database_words(error)
        LOG.warning("%s is left: %s\n  hint: DROP TABLE %s", to.staged, words, to.staged)


def discard_staged(to: TablePublication, database: Database) -> None:
    """Drop the table beside the target if it exists; raises the driver's errors."""
    if is_there(database, to.staged):
        database.execute([f"DROP TABLE {to.staged}"])


def _carry_out_unmarked(to: TablePublication, database: Database) -> Refusal | None:
    try:
        return _run(to, [], database)
    except Py4JJavaError as error:
        return _refusal(error) if is_there(database, to.staged) else None


def _refusal(error: Py4JJavaError) -> Refusal:
    """Return a permanent refusal; raises errors that may be temporary."""
    if not is_refusal(error):
        raise error
    return Refusal(words=database_words(error), is_change=is_change(error))


def _run(to: TablePublication, mark: list[str], database: Database) -> Refusal | None:
    """Run what was decided, with the mark first, so that a second execution waits for it before it changes anything."""
    columns = ", ".join(map(database.quote, to.columns))
    drop = f"DROP TABLE {to.staged}"
    insert = f"INSERT INTO {to.table} ({columns}) SELECT {columns} FROM {to.staged}"
    is_one = database.keeps_definitions_in_transactions
    if to.creates and is_one:
        rows = [f"CREATE TABLE {to.table} AS SELECT {columns} FROM {to.staged}"]
    elif to.creates:
        if not _create_empty(to, database):
            return Refusal(words="others have created it", is_change=True)
        rows = [insert]
    else:
        rows = [_merge(to, database) if to.keys else insert]
    with database.transaction() as transaction:
        transaction.run_all(mark)
        if to.replaces and not to.creates and (kept := _kept_by_delete(to, transaction)):
            transaction.undo()
            return Refusal(words=kept, is_change=True, keeps_old_rows=True)
        (taken,) = transaction.run_all(rows)
        transaction.run_all([drop] if is_one else [])
    _compare_counts(to, taken)
    if not is_one:
        drop_staged(to, database)
    return None


def _compare_counts(to: TablePublication, taken: int) -> None:
    """Log how many rows the target took, unless it took all: a trigger or a rule may drop some."""
    if to.keys:
        # A MERGE changes a row for each that the target has of its key, and none where there is nothing to update.
        is_short = taken < to.rows and bool(set(to.columns) - set(to.keys))
    else:
        is_short = taken != to.rows and not to.creates
    if is_short:
        words = "%s reports %s of %s rows: it has a trigger or a rule"
        LOG.warning(words, to.table, taken, to.rows)


def _kept_by_delete(to: TablePublication, transaction: Transaction) -> str:
    """Delete all rows of the target; return why that was not done, empty if it was.

    A trigger or a rule may keep rows, which would then be beside the new ones. Rows that others add while this runs
    do not count: the DELETE has removed all that were there.
    """
    held = transaction.count(to.table)
    deleted = transaction.run(f"DELETE FROM {to.table}")
    left = transaction.count(to.table) if deleted < held else 0
    if not left:
        return ""
    return (
        f"DELETE removed {max(deleted, 0)} of its {held} rows, but {left} remain: a trigger, a rule or another "
        "writer kept them"
    )


def _create_empty(to: TablePublication, database: Database) -> bool:
    """Create the target without rows, unless a dead carrier has; return whether it exists and is empty."""
    columns = ", ".join(map(database.quote, to.columns))
    if is_there(database, to.table):
        return database.count(to.table) == 0
    database.execute([f"CREATE TABLE {to.table} AS SELECT {columns} FROM {to.staged} WHERE 1 = 0"])
    return True


def _merge(to: TablePublication, database: Database) -> str:
    """Return standard SQL's MERGE; no database reserves the names of its aliases."""
    quote = database.quote
    on = " AND ".join(f"t_old.{quote(key)} = t_new.{quote(key)}" for key in to.keys)
    others = [quote(name) for name in to.columns if name not in to.keys]
    update = ", ".join(f"{name} = t_new.{name}" for name in others)
    matched = [f"WHEN MATCHED THEN UPDATE SET {update}"] if others else []
    columns = ", ".join(map(quote, to.columns))
    values = ", ".join(f"t_new.{quote(name)}" for name in to.columns)
    added = f"WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})"
    return " ".join([f"MERGE INTO {to.table} t_old USING {to.staged} t_new ON ({on})", *matched, added])


# The record of finished decisions, written in the transaction of the rows, so that both exist or neither.
#
#     graph_compiler_publications     in the schema of the target
#     mark          outcome      target  pipeline  run_id  execution_id  marked_at
#     5f0c…         published    …
#     91ab…         given up     …
#
# A mark is a primary key, so it can be inserted only once: if an execution tries to carry out the same decision again,
# or to give it up, the database refuses, and the execution reads the outcome. Publication numbers cannot be used
# instead: every staging root has its own.

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
                f"  allowed: the right to CREATE it, or to SELECT and INSERT if it exists\n"
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
