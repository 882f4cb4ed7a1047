"""The error of a database, unwrapped from Spark's exceptions, batches and pools.

SparkException ─cause─▶ BatchUpdateException ─next─▶ PSQLException 23505 "duplicate key …"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError, is_java_instance

_MOST_LINKS = 50
_FINAL = re.compile(r"0A|21|22|23|27|2F|38|39|42|44|54|55000|P0")
"""Errors that the same statement would get again with the same rows: the statement or the rows were refused.

0A not supported · 21 too many rows for one (merge) · 22 data · 23 constraints · 27, 2F, 38, 39 and P0 of triggers and
functions · 42 names, types and rights · 44 a view's check · 54 beyond a limit (a key too long for its index) ·
55000 a table that cannot take rows in its state (a view). Other errors may be temporary: 08 connection, 25006 read
only (a standby), 28 login, 40 deadlock and serialization, 53 resources, 55P03 lock timeout, 57 shutdown and statement
timeout, 58 system, XX internal, and any error without an SQLSTATE.
"""
_CHANGED = frozenset({"42P01", "42S02", "42703", "42S22", "42804"})
"""The table or a column is gone, or its type differs: it has changed since it was checked."""
_SESSION_CHANGED = frozenset({"42P05", "26000"})
"""A prepared statement exists already, or does not exist: a pooler gave the transaction a different session."""


def sql_state(error: Py4JJavaError) -> str:
    """Return the SQLSTATE of the first SQLException in a chain that has one; empty if none has."""
    states = (str(found.getSQLState() or "") for found in _sql_exceptions(error.java_exception))
    return next((state for state in states if state), "")


def database_words(error: Py4JJavaError) -> str:
    """Return the database's messages, each once; if there are none, those of the JVM."""
    said = [str(found.getMessage() or "").strip() for found in _sql_exceptions(error.java_exception)]
    sentences: list[str] = []
    for text in filter(None, said):
        if not any(text in before for before in sentences):
            sentences.append(text)
    return "\n  ".join(sentences) or str(error.java_exception)


def is_refusal(error: Py4JJavaError) -> bool:
    """Whether a statement would be refused again, because of its text or its rows."""
    return _FINAL.match(sql_state(error)) is not None and not is_changed_session(error)


def is_changed_session(error: Py4JJavaError) -> bool:
    """Whether a statement failed because a pooler changed the session, and with it the prepared statements."""
    return sql_state(error) in _SESSION_CHANGED


def refuses_rows(error: Py4JJavaError) -> bool:
    """Whether a batch of rows would be refused again. Errors of a source that is read meanwhile are of no batch."""
    of_batch = (
        is_java_instance(found, "java.sql.BatchUpdateException") for found in _sql_exceptions(error.java_exception)
    )
    return is_refusal(error) and any(of_batch)


def is_change(error: Py4JJavaError) -> bool:
    """Whether a statement was refused because others changed the table's definition."""
    return sql_state(error) in _CHANGED


def _sql_exceptions(java: Any) -> Iterator[Any]:
    return (found for found in _links(java) if is_java_instance(found, "java.sql.SQLException"))


def _links(java: Any) -> Iterator[Any]:
    """Return an exception, its causes and its suppressed or next exceptions, each once; a chain may contain a cycle."""
    waiting, seen = [java], 0
    while waiting and seen < _MOST_LINKS:
        current = waiting.pop(0)
        seen += 1
        yield current
        if is_java_instance(current, "java.sql.SQLException"):
            waiting.append(current.getNextException())
        waiting.append(current.getCause())
        waiting = [link for link in waiting if link is not None]
