"""Merge changes into a table: what is stored of them, which of several counts, and the statement.

    type 1    one row for each key: that of the last change
    type 2    one row for each version of a key

    changes              at 1: a    at 3: b    at 5: removed    (whenever each of them comes)
    type 2               a [1, 3)   b [3, 5)

A change that comes late takes its place. Of several at one point, those of a later run count; in one run, a row counts
before a removal. A removal is not stored: of type 1, and of a key that has no version, an older change that comes after
it brings the key back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql.functions import (
    coalesce,
    col,
    concat_ws,
    first,
    format_string,
    lag,
    last,
    lead,
    raise_error,
    row_number,
    struct,
    when,
)
from pyspark.sql.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegralType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Merge, Sink
from graph_compiler.declaration.operators.merge import ENDS, STARTS
from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.alignment import align
from graph_compiler.spark_runtime.columns.declared_schema import ddl, parse_schema, type_words
from graph_compiler.spark_runtime.publishing.format_values import key_columns, refuse_keys, unusable_keys
from graph_compiler.spark_runtime.spark_internals.java import lit

_ORDERED = (IntegralType, DecimalType, DateType, TimestampType, TimestampNTZType)
_REMOVED = "graph_compiler_removed"
_AT, _IS_NEW, _IS_LAST, _BEGINS, _NUMBER = (f"graph_compiler_{name}" for name in ("at", "new", "last", "begins", "n"))
_TRACKED, _THERE = "graph_compiler_tracked", "graph_compiler_there"
_NOT_COMPARED = re.compile(r'"type": ?"(map|variant)"')
_LATE = (
    "it merges a change of key %s at %s, which lies between changes that made no new version, because no column of "
    "track_history_columns changed: they are not in the table any more\n"
    "  allowed: changes in their order, or a merge without track_history_columns"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """How the changes of a sink become rows of its table."""

    keys: tuple[str, ...]
    merge: Merge

    @classmethod
    def of(cls, sink: Sink) -> Merging:
        """Return that of a sink whose mode is `merge`."""
        return cls(keys=sink.keys, merge=sink.merge or Merge())

    @property
    def _sequence(self) -> str:
        assert self.merge.sequence_by is not None, "the compiler requires it"
        return self.merge.sequence_by

    def resolved(self, schema: StructType) -> Merging:
        """Return the same, with names as the columns of the changes are spelled.

        Raises PublicationError for columns that are missing, or of other types.
        """
        merge = self.merge
        names = dict(zip(merge.columns(), key_columns(merge.columns(), schema), strict=True))
        kinds = {name: schema[spelled].dataType for name, spelled in names.items()}
        if merge.sequence_by is not None and not isinstance(kinds[merge.sequence_by], _ORDERED):
            raise PublicationError(
                f"sequence_by is column '{merge.sequence_by}', a {type_words(kinds[merge.sequence_by])}\n"
                "  allowed: a whole number, a DECIMAL, a DATE or a timestamp"
            )
        if (flag := merge.apply_as_deletes) is not None and not isinstance(kinds[flag], BooleanType):
            raise PublicationError(
                f"apply_as_deletes is column '{flag}', a {type_words(kinds[flag])}\n  allowed: a BOOLEAN column"
            )
        return Merging(
            keys=key_columns(self.keys, schema),
            merge=replace(
                merge,
                sequence_by=None if merge.sequence_by is None else names[merge.sequence_by],
                apply_as_deletes=None if flag is None else names[flag],
                track_history_columns=tuple(names[name] for name in merge.track_history_columns),
            ),
        )

    def removed(self) -> Column:
        """Return whether a change removes its key."""
        flag = self.merge.apply_as_deletes
        return lit(False) if flag is None else _column(flag).eqNullSafe(lit(True))

    def with_ends(self, changes: DataFrame) -> DataFrame:
        """Return changes with the columns that a table of versions has besides."""
        if not self.merge.keeps_history:
            return changes
        kind = changes.schema[self._sequence].dataType
        return changes.withColumns({STARTS: _column(self._sequence), ENDS: lit(None).cast(kind)})

    def stored_schema(self, declared: StructType) -> StructType:
        """Return the columns of the table for those that are declared: of its versions, if there are any."""
        if not self.merge.keeps_history or STARTS in declared.names:
            return declared
        kind = declared[key_columns((self._sequence,), declared)[0]].dataType
        return StructType([*declared, StructField(STARTS, kind), StructField(ENDS, kind)])

    def compared_with(self, connector: Connector, held: StructType | None) -> tuple[Connector, StructType | None]:
        """Return what changes have to be like: the declared columns and those of the table, each with the flag."""
        flag = self.merge.apply_as_deletes
        added = [] if flag is None else [StructField(flag, BooleanType())]
        if connector.schema is not None:
            declared = self.stored_schema(parse_schema(connector.schema))
            connector = replace(connector, schema=ddl(StructType([*declared, *added])))
        return connector, None if held is None else StructType([*held, *added])

    def refuse_unclear(self, changes: DataFrame) -> None:
        """Raise PublicationError for keys or points with NULL, and for several changes at one point; runs one job."""
        sequence = () if self.merge.sequence_by is None else (self.merge.sequence_by,)
        flag = () if not sequence or self.merge.apply_as_deletes is None else (_REMOVED,)
        by = (*self.keys, *sequence, *flag)
        refuse_keys(unusable_keys(changes.withColumn(_REMOVED, self.removed()), by), by)

    def rows(self, changes: DataFrame, held: DataFrame) -> DataFrame:
        """Return what the statement merges into a table that has the rows `held`.

        They have the table's columns, and say whether the row is removed. Both frames give the same in each read.
        """
        flag = self.merge.apply_as_deletes
        changes = changes.withColumn(_REMOVED, self.removed())
        changes = changes if flag is None else changes.drop(flag)
        if self.merge.keeps_history:
            return self._versions(changes, held)
        if self.merge.sequence_by is None:
            return changes
        sequence = _column(self._sequence)
        order = [sequence.asc()] if self.merge.insert_only else [sequence.desc(), col(_REMOVED).asc()]
        window = Window.partitionBy(*map(_column, self.keys)).orderBy(*order)
        return changes.withColumn(_NUMBER, row_number().over(window)).where(f"{_NUMBER} = 1").drop(_NUMBER)

    def first_rows(self, changes: DataFrame) -> DataFrame:
        """Return the rows of a table that had none."""
        flag = self.merge.apply_as_deletes
        held = changes.limit(0) if flag is None else changes.limit(0).drop(flag)
        return self.rows(changes, held).where(f"NOT {_REMOVED}").drop(_REMOVED)

    def statement(self, into: str, view: str, rows: StructType, *, evolves: bool = False) -> str:
        """Return the statement that merges a view of `rows` into a table."""
        merge = self.merge
        names = [quoted(name) for name in rows.names if name != _REMOVED]
        by = (*self.keys, STARTS) if merge.keeps_history else self.keys
        same = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in by)
        removes = merge.keeps_history or merge.apply_as_deletes is not None
        stays = f" AND NOT s.{_REMOVED}" if removes else ""
        newer = ""
        if merge.sequence_by is not None and not merge.keeps_history:
            name = quoted(merge.sequence_by)
            newer = f" AND (t.{name} IS NULL OR s.{name} >= t.{name})"
        sets = ", ".join(f"{name} = s.{name}" for name in names)
        values = ", ".join(f"s.{name}" for name in names)
        clauses = [
            f"WHEN MATCHED AND s.{_REMOVED}{newer} THEN DELETE" if removes else "",
            "" if merge.insert_only else f"WHEN MATCHED{stays}{newer} THEN UPDATE SET {sets}",
            f"WHEN NOT MATCHED{stays} THEN INSERT ({', '.join(names)}) VALUES ({values})",
        ]
        evolution = " WITH SCHEMA EVOLUTION" if evolves else ""
        return f"MERGE{evolution} INTO {into} t USING {view} s ON {same} {' '.join(filter(None, clauses))}"

    def _versions(self, changes: DataFrame, held: DataFrame) -> DataFrame:
        """Return the versions of all keys that change, and those that are gone."""
        table = changes.drop(_REMOVED).schema
        stored = table.names
        changed_keys = changes.select(*map(_column, self.keys)).distinct()
        known = align(held, table).join(changed_keys, list(self.keys), "left_semi")  # a new column is NULL there
        events = self._events(known).unionByName(self._marked(changes, _column(self._sequence), is_new=True))
        versions = self._made_of(self._one_at_each_point(events)).select(*map(_column, stored))
        by = [*self.keys, STARTS]
        gone = known.join(versions.select(*map(_column, by)), by, "left_anti").withColumn(_REMOVED, lit(True))
        if _NOT_COMPARED.search(changes.schema.json()) is None:
            alike = reduce(and_, (col(f"new.{quoted(name)}").eqNullSafe(col(f"old.{quoted(name)}")) for name in stored))
            versions = versions.alias("new").join(known.alias("old"), alike, "left_anti")
        return versions.withColumn(_REMOVED, lit(False)).unionByName(gone)

    def _events(self, known: DataFrame) -> DataFrame:
        """Return the changes that have made the versions of a table, as far as it knows them."""
        known = known.withColumn(_REMOVED, lit(False))
        following = lead(_column(STARTS)).over(self._by_key().orderBy(_column(STARTS)))
        ends = known.withColumn(_NUMBER, following).where(
            f"{ENDS} < {_NUMBER} OR ({ENDS} IS NOT NULL AND {_NUMBER} IS NULL)"
        )
        ends = ends.drop(_NUMBER).withColumn(_REMOVED, lit(True))
        events = self._marked(known, _column(STARTS)).unionByName(self._marked(ends, _column(ENDS)))
        if not self.merge.track_history_columns:
            return events
        latest = _column(self._sequence)
        return events.unionByName(self._marked(known.where(latest > _column(STARTS)), latest, is_last=True))

    def _marked(self, rows: DataFrame, at: Column, *, is_new: bool = False, is_last: bool = False) -> DataFrame:
        tracked = self.merge.track_history_columns
        values = struct(*map(_column, tracked)) if tracked else lit(None)
        return rows.withColumns({_AT: at, _IS_NEW: lit(is_new), _IS_LAST: lit(is_last), _TRACKED: values})

    def _one_at_each_point(self, events: DataFrame) -> DataFrame:
        """Return the event that counts at each point, and what the table knows of that point.

        If its last change of a version is there, these are the tracked values: the changes before it, that made no
        version of their own, are not known any more.
        """
        point = Window.partitionBy(*map(_column, self.keys), _AT)
        counts = row_number().over(point.orderBy(col(_IS_NEW).desc(), col(_REMOVED).asc(), col(_IS_LAST).desc()))
        of_table = when(~col(_IS_NEW), struct(when(col(_IS_LAST), col(_TRACKED)).alias("within"), col(_IS_LAST)))
        there = first(of_table, ignorenulls=True).over(point.orderBy(col(_IS_LAST).desc()))
        return events.withColumns({_NUMBER: counts, _THERE: there}).where(f"{_NUMBER} = 1").drop(_NUMBER)

    def _made_of(self, events: DataFrame) -> DataFrame:
        """Return the versions that events make, in their order."""
        order = self._by_key().orderBy(_AT)
        differs = lit(True)
        if self.merge.track_history_columns:
            events = self._in_order_only(events, order)
            differs = ~col(_TRACKED).eqNullSafe(lag(_TRACKED).over(order))
        begins = ~col(_REMOVED) & (coalesce(lag(_REMOVED).over(order), lit(True)) | differs)
        events = events.withColumn(_BEGINS, begins)
        since = last(when(col(_BEGINS), col(_AT)), ignorenulls=True).over(
            order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        )
        is_over = coalesce(lead(col(_BEGINS) | col(_REMOVED)).over(order), lit(True))
        events = events.withColumns({STARTS: since, ENDS: lead(_AT).over(order), _NUMBER: is_over})
        return events.where(f"{_NUMBER} AND NOT {_REMOVED}")

    def _in_order_only(self, events: DataFrame, order: WindowSpec) -> DataFrame:
        """Fail for a change between others that made no version: what comes after it is not known any more."""
        following = order.rowsBetween(1, Window.unboundedFollowing)
        within = first(_THERE, ignorenulls=True).over(following).getField("within")
        is_other = within.isNotNull() & (col(_REMOVED) | ~within.eqNullSafe(col(_TRACKED)))
        key = concat_ws(", ", *(_column(key).cast("string") for key in self.keys))
        said = raise_error(format_string(_LATE, key, _column(self._sequence).cast("string")))
        return events.withColumn(_REMOVED, when(col(_IS_NEW) & is_other, said.cast("boolean")).otherwise(col(_REMOVED)))

    def _by_key(self) -> WindowSpec:
        return Window.partitionBy(*map(_column, self.keys))


def _column(name: str) -> Column:
    return col(quoted(name))
