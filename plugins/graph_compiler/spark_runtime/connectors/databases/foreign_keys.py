"""Find the tables whose rows a DELETE of a target would also delete or change, by their foreign keys.

A DELETE of a table also removes the rows of its partitions, and of tables that inherit from it; one of a view removes
those of the tables below it.
"""

from __future__ import annotations

from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.connectors.database import Database

_CHANGED_BY_DELETE = """
WITH RECURSIVE below (upper, oid, is_whole) AS (
    SELECT inhparent, inhrelid, true FROM pg_catalog.pg_inherits
    UNION ALL
    SELECT r.ev_class, d.refobjid, false
    FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
    WHERE r.ev_type = '1' AND d.refobjid <> r.ev_class
    AND d.classid = CAST('pg_catalog.pg_rewrite' AS regclass) AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
), emptied (oid, is_whole) AS (
    SELECT CAST(pg_catalog.to_regclass(?) AS oid), true
    UNION
    SELECT b.oid, e.is_whole AND b.is_whole FROM emptied e JOIN below b ON b.upper = e.oid
)
SELECT DISTINCT CAST(CAST(k.conrelid AS regclass) AS text)
FROM pg_catalog.pg_constraint k
WHERE k.contype = 'f' AND k.confdeltype IN ('c', 'n', 'd')
AND k.confrelid IN (SELECT oid FROM emptied)
AND k.conrelid NOT IN (SELECT oid FROM emptied WHERE is_whole)
AND NOT EXISTS (
    SELECT 1 FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_constraint p ON p.conrelid = i.inhparent
    WHERE i.inhrelid = k.conrelid AND p.contype = 'f' AND p.confrelid = k.confrelid AND p.confdeltype = k.confdeltype
)
ORDER BY 1
"""
"""Of partitions with a foreign key of their table, only the table is named."""


def refuse_delete_of_others(database: Database, table: str) -> None:
    """Raise PublicationError if a DELETE of a table, by its SQL name, would change others; known of PostgreSQL only."""
    found = _changed_by_delete(database, table)
    if found:
        raise PublicationError(
            f"replacing the rows of {table} would also delete or change rows of {listing(found)}: a foreign key there "
            "has ON DELETE CASCADE, SET NULL or SET DEFAULT\n"
            "  allowed: a target to which no such foreign key refers\n"
            '  hint: mode="merge" deletes nothing: rows of the target whose keys are not among the new ones stay'
        )


def _changed_by_delete(database: Database, table: str) -> list[str]:
    with database.connection() as connection:
        if str(connection.getMetaData().getDatabaseProductName()) != "PostgreSQL":
            return []
        statement = connection.prepareStatement(_CHANGED_BY_DELETE)
        statement.setString(1, table)
        rows = statement.executeQuery()
        found: list[str] = []
        while rows.next():
            found.append(str(rows.getString(1)))
        return found
