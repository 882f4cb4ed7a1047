"""Find the table of a name in the database itself: an error is never mistaken for a missing table.

orders         ┐
public.orders  ├─▶  "public"."orders" of shop, existing or not  one table, one place in the ledger
"orders"       ┘
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graph_compiler.declaration.connectors.jdbc_url import same_database
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.declaration.connectors.table_name import NamePart, parse_table_name
from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.databases.sql_errors import sql_state
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError

OURS = "graph_compiler_"
"""Prefix of the name of every table we create."""
_RELATION = """
SELECT n.nspname, c.relname, c.relkind IN ('r', 'p', 'v', 'm', 'f')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass(?)
"""
_NO_SUCH_TABLE = frozenset({"42P01", "42S02", "42704", "42X05", "42000", "S0002"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTable:
    """A table as its database names it. `name` and `schema` are SQL; `place` is the same for all its spellings."""

    name: str
    schema: str
    place: str
    exists: bool

    def beside(self, name: str) -> str:
        """Return the SQL name of one of our tables in the same schema."""
        return f"{self.schema}.{name}" if self.schema else name


def resolve(database: Database) -> ResolvedTable:
    """Return the table that a sink's connector names.

    Raises PublicationError if the name is not that of a table we may write, and the driver's errors.
    """
    table = database.connector.table
    assert table is not None, "the compiler refuses to write a query"
    parts = parse_table_name(table)
    with database.connection() as connection:
        about = connection.getMetaData()
        longest = int(about.getMaxTableNameLength())
        length = len(parts[-1].text.encode()) if parts else 0
        if longest and length > longest:
            raise PublicationError(
                f"its target {table} has a name of {length} bytes, but the database keeps only {longest} of them"
            )
        is_postgres = str(about.getDatabaseProductName()) == "PostgreSQL"
        find = _in_postgres if is_postgres else _by_metadata
        found = find(database, connection, table, parts)
    if found.name.rpartition(".")[2].strip('"`').lower().startswith(OURS):
        raise PublicationError(f"its target {table} is a table that graph-compiler keeps for itself")
    return found


def is_there(database: Database, name: str) -> bool:
    """Whether a table of ours exists, by its SQL name; raises the driver's errors."""
    with database.connection() as connection:
        about = connection.getMetaData()
        if str(about.getDatabaseProductName()) == "PostgreSQL":
            return _relation(connection, name) is not None
        parts = parse_table_name(name)
        assert parts is not None, "we gave it the name"
        return _is_listed(connection, _kept(connection, parts))


def _in_postgres(database: Database, connection: Any, table: str, parts: tuple[NamePart, ...] | None) -> ResolvedTable:
    relation = _relation(connection, database.name(table))
    if relation is not None:
        schema, last, is_table = relation
        if not is_table:
            raise PublicationError(f"its target {table} is not a table")
    elif parts is None:
        raise PublicationError(f"its target {table} is not the name of a table")
    else:
        *qualifiers, last = (part.folded("postgresql") or part.text for part in parts)
        schema = qualifiers[-1] if qualifiers else _current_schema(connection, table)
    quoted, name = database.quote(schema), f"{database.quote(schema)}.{database.quote(last)}"
    catalog = database.quote(str(connection.getCatalog()))
    return ResolvedTable(
        name=name, schema=quoted, place=f"{catalog}.{name} in {_where(database)}", exists=relation is not None
    )


def _relation(connection: Any, name: str) -> tuple[str, str, bool] | None:
    """Return schema and name of a relation in PostgreSQL, and whether it has rows."""
    statement = connection.prepareStatement(_RELATION)
    statement.setString(1, name)
    row = statement.executeQuery()
    found = bool(row.next())
    return (str(row.getString(1)), str(row.getString(2)), bool(row.getBoolean(3))) if found else None


def _current_schema(connection: Any, table: str) -> str:
    schema = connection.getSchema()
    if schema is None:
        raise PublicationError(f"its target {table} names no schema, and no schema of the user's search_path exists")
    return str(schema)


def _by_metadata(database: Database, connection: Any, table: str, parts: tuple[NamePart, ...] | None) -> ResolvedTable:
    """Search JDBC's catalog; a name it does not have (a synonym) may still be a readable table."""
    name = database.name(table)
    if parts is None:
        place, is_listed = table, False
    else:
        kept = _kept(connection, parts)
        place, is_listed = (".".join(map(database.quote, filter(None, kept))), _is_listed(connection, kept))
    return ResolvedTable(
        name=name,
        schema=name.rpartition(".")[0] if parts else "",
        place=f"{place} in {_where(database)}",
        exists=is_listed or _answers(database, connection, name),
    )


_Kept = tuple[str | None, str | None, str]
"""A table in JDBC's catalog: catalog, schema and name."""


def _kept(connection: Any, parts: tuple[NamePart, ...]) -> _Kept:
    about = connection.getMetaData()
    *qualifiers, last = (_in_stored_case(part, about) for part in parts)
    catalog, schema = connection.getCatalog(), connection.getSchema()
    if qualifiers and about.supportsSchemasInTableDefinitions():
        catalog = qualifiers[-2] if qualifiers[1:] else catalog
        schema = qualifiers[-1]
    elif qualifiers:
        catalog = qualifiers[-1]
    return catalog, schema, last


def _is_listed(connection: Any, kept: _Kept) -> bool:
    about = connection.getMetaData()
    escape = str(about.getSearchStringEscape() or "")
    catalog, schema, last = kept
    pattern = None if schema is None else _escaped(schema, escape)
    return bool(about.getTables(catalog, pattern, _escaped(last, escape), None).next())


def _answers(database: Database, connection: Any, name: str) -> bool:
    """Whether a name can be read. Only "no such table" counts as no; other errors are raised."""
    try:
        database.run(connection, database.exists_query(name))
    except Py4JJavaError as error:
        if sql_state(error) in _NO_SUCH_TABLE:
            return False
        raise
    return True


def _in_stored_case(part: NamePart, about: Any) -> str:
    if not part.is_plain:
        return part.text
    if about.storesUpperCaseIdentifiers():
        return part.text.upper()
    return part.text.lower() if about.storesLowerCaseIdentifiers() else part.text


def _escaped(text: str, escape: str) -> str:
    for letter in (escape, "_", "%"):
        text = text.replace(letter, escape + letter) if letter else text
    return text


def _where(database: Database) -> str:
    url = database.connector.url
    return str(url) if isinstance(url, Secret) else same_database(url)
