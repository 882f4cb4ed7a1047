"""A database's table or query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import ClassVar, Self

from graph_compiler.declaration.connectors.connector import Connector, Options, SinkMode, WhenReadTwice, as_pairs
from graph_compiler.declaration.connectors.file_uris import lasting
from graph_compiler.declaration.connectors.jdbc_templates import (
    TEMPLATE,
    find_rendering_problems,
    find_template_problems,
)
from graph_compiler.declaration.connectors.jdbc_url import (
    database_kind,
    is_in_query,
    is_in_statement,
    is_in_url,
    same_database,
    table_uri,
)
from graph_compiler.declaration.connectors.secret import Secret, SecretText
from graph_compiler.declaration.connectors.table_name import parse_table_name, with_quotes_where_needed
from graph_compiler.declaration.coordination import InputSplit
from graph_compiler.declaration.sql_text import WRITING_WORDS, command_in
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing

_QUOTES = "ansi_quotes"
_BOUNDS = "two whole numbers, two dates or two timestamps (2013-01-31), the lower first, or templates of them"
_SPLITS = ("partition_column", "lower_bound", "upper_bound")


@dataclass(frozen=True, slots=True)
class Jdbc(Connector):
    """A `table`, or a `query` to read; `driver` is the class of a JDBC driver on Spark's class path (`spark.jars`).

    It is read in one query. `partition_column` (whole numbers, dates or timestamps), `lower_bound` and `upper_bound`
    split it into `num_partitions` input splits (by default, as many as the source's parallelism), with one query each.
    Bounds only determine the split points: rows outside them are read, too.

    If a task reads the source more than once (several sinks, several splits), all reads see one snapshot. The source
    is refused if the database cannot share one (docs/connectors.md); `accept_changes_between_reads` reads it without.

    As a sink: rows go to a table beside the target, and from there into the target in one transaction, which also drops
    that table. Append counts a run once: rows of a table do not show which run wrote them, so if an attempt of a run
    has appended, later attempts change nothing. Overwrite deletes and inserts, and therefore keeps the table's
    definition and grants. Merge uses the database's own MERGE.
    """

    spark_modules: ClassVar[tuple[str, ...]] = (
        "graph_compiler.spark_runtime.connectors.jdbc_source",
        "graph_compiler.spark_runtime.connectors.jdbc_sink",
    )
    sink_modes: ClassVar[tuple[SinkMode, ...]] = (
        SinkMode.APPEND,
        SinkMode.OVERWRITE,
        SinkMode.ERROR_IF_EXISTS,
        SinkMode.MERGE,
    )
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.SNAPSHOT
    never_rendered: ClassVar[tuple[str, ...]] = (
        *("schema", "on_schema_change"),
        *("query", "driver", "partition_column"),
    )
    url: SecretText
    table: str | None = field(default=None, kw_only=True)
    query: str | None = field(default=None, kw_only=True)
    user: SecretText | None = field(default=None, kw_only=True)
    password: SecretText | None = field(default=None, kw_only=True)
    driver: str | None = field(default=None, kw_only=True)
    partition_column: str | None = field(default=None, kw_only=True)
    lower_bound: str | int | None = field(default=None, kw_only=True)
    upper_bound: str | int | None = field(default=None, kw_only=True)
    num_partitions: int | None = field(default=None, kw_only=True)
    fetch_size: int | None = field(default=None, kw_only=True)
    accept_changes_between_reads: bool = field(default=False, kw_only=True)
    options: Options = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Keep the options as pairs."""
        object.__setattr__(self, "options", as_pairs(self.options))

    @property
    def place(self) -> str | None:
        """Return the table and its database; a query has no place."""
        return None if self.table is None else f"{self.table} in {self.url}"

    def place_key(self) -> tuple[object, ...] | None:
        """Return database and table, as far as their texts show; the final check is made in the database."""
        if self.table is None:
            return None
        if isinstance(self.url, Secret):
            return (Jdbc, self.url, self.table)
        kind, parts = database_kind(self.url), parse_table_name(self.table)
        names = [part.folded(kind) for part in parts or ()]
        table = tuple(names) if names and None not in names else self.table
        return (Jdbc, same_database(self.url), table)

    def asset_uri(self, fill: Callable[[str], str]) -> str | None:
        """Return the table's URI; None for a query, and if the url is a secret or contains a template."""
        if self.table is None or not isinstance(self.url, str):
            return None
        table = lasting(fill(self.table))
        return table_uri(fill(self.url), table) if table else None

    def connection_properties(self) -> dict[str, SecretText]:
        """Return Spark's JDBC options without url and table."""
        own: dict[str, SecretText | None] = {
            "user": self.user,
            "password": self.password,
            "driver": self.driver,
            "fetchsize": None if self.fetch_size is None else str(self.fetch_size),
        }
        given = {key: value for key, value in own.items() if value is not None}
        return given | dict(as_pairs(self.options))

    def create_input_splits(self, parallelism: int = 1) -> tuple[PredicateSplit, ...]:
        """Return what each subtask reads: disjoint, complete, with NULLs in the first.

        `num_partitions` splits, otherwise `parallelism`; fewer if there are fewer values between the bounds.
        Raises ValueError unless the bounds are two numbers, dates or timestamps in order, or templates.
        """
        if self.partition_column is None or self.lower_bound is None or self.upper_bound is None:
            return (PredicateSplit(number=0, description="all rows", predicate=None),)
        parts = parallelism if self.num_partitions is None else self.num_partitions
        predicates: tuple[str | None, ...] = (None,) * parts
        if not any(TEMPLATE.search(str(bound)) for bound in (self.lower_bound, self.upper_bound)):
            lower, upper = parse_bound(self.lower_bound), parse_bound(self.upper_bound)
            if lower.kind is not upper.kind or lower.position >= upper.position:
                raise ValueError(f"lower {self.lower_bound!r}, upper {self.upper_bound!r}")
            predicates = split_predicates(self.partition_column, lower, upper, parts)
        return tuple(
            PredicateSplit(
                number=number, description=predicate or f"part {number + 1} of {len(predicates)}", predicate=predicate
            )
            for number, predicate in enumerate(predicates)
        )

    def rendering_problems(self, rendered: Mapping[str, str]) -> Iterator[Problem]:
        """Yield rendered texts that are more than a name where the declaration has a name."""
        yield from find_rendering_problems(self.texts(), rendered)

    def with_texts(self, rendered: Mapping[str, str]) -> Self:
        """Return the same connector with rendered texts; a rendered table is quoted where needed."""
        table = rendered.get("table")
        if table is not None and TEMPLATE.search(self.table or ""):
            rendered = {**rendered, "table": with_quotes_where_needed(table)}
        return super(Jdbc, self).with_texts(rendered)

    def why_not_writable(self) -> str | None:
        """Return a reason for a query, which cannot be written."""
        return None if self.table is not None else "a query cannot be written"

    def problems(self) -> Iterator[Problem]:
        """Yield settings that Spark would refuse at run time, and passwords in plain text."""
        fixed = {"partition_column": self.partition_column or "", "driver": self.driver or ""}
        options = dict(as_pairs(self.options))
        yield from self._what_to_read()
        yield from find_template_problems(self.table, self.url, options, fixed)
        yield from self._bounds()
        yield from self._clear_passwords()
        if isinstance(self.url, str) and database_kind(self.url) == "mariadb" and _QUOTES not in self.url.lower():
            yield Problem(
                message="its url begins with jdbc:mariadb, and Spark does not know how MariaDB quotes names: "
                "it would read the names of columns as their values",
                allowed="a url that begins with jdbc:mysql, or that sets sql_mode=ANSI_QUOTES",
                hint="jdbc:mysql://…?permitMysqlScheme with the driver of MariaDB",
            )

    def _what_to_read(self) -> Iterator[Problem]:
        given = [name for name in ("table", "query") if getattr(self, name) is not None]
        if len(given) != 1:
            both = f"it has {listing(given)}" if given else "it has neither table nor query"
            yield Problem(message=both, allowed="table= or query=")
        if any(not getattr(self, name).strip() for name in given):
            yield Problem(message=f"its {given[0]} is empty", allowed="table= or query=")
        command = command_in(self.query or "")
        if command and command.split()[0] in WRITING_WORDS:  # some databases have SHOW … as a table
            yield Problem(
                message=f"its query is a command ({command})",
                allowed="a query of the database: SELECT …",
                hint="a source only reads: the database takes its query in parentheses, as a table",
            )
        if template := TEMPLATE.search(self.query or ""):
            yield Problem(
                message=f"its query contains a template ({template[0]} …)",
                allowed="templates in paths and connector options; parameters in expressions",
                hint="filter after the source with a bound parameter: Spark pushes the filter down to the database",
            )

    def _bounds(self) -> Iterator[Problem]:
        missing = [name for name in _SPLITS if getattr(self, name) is None]
        if missing and (len(missing) < len(_SPLITS) or self.num_partitions is not None):
            given = next(name for name in (*_SPLITS, "num_partitions") if getattr(self, name) is not None)
            message = f"{given} needs {listing(missing)}"
            allowed = f"{listing(_SPLITS)} together (and num_partitions), or none of them"
            yield Problem(message=message, allowed=allowed)
        elif self.num_partitions is not None and not _is_count(self.num_partitions):
            message = f"num_partitions is {self.num_partitions!r}"
            yield Problem(message=message, allowed="a whole number from 1")
        else:
            try:
                self.create_input_splits()
            except ValueError as error:
                yield Problem(message=f"its bounds are wrong: {error}", allowed=_BOUNDS)

    def _clear_passwords(self) -> Iterator[Problem]:
        found = []
        if isinstance(self.password, str):
            found.append("its password is in the declaration in plain text")
        if isinstance(self.url, str) and is_in_url(self.url):
            found.append("its url holds a password")
        if self.query is not None and is_in_query(self.query):
            found.append("its query holds a password")
        for key, value in as_pairs(self.options):
            if isinstance(value, str) and (is_in_url(value) or is_in_statement(value)):
                found.append(f"its option '{key}' holds a password or another secret")
        allowed = f"{Secret.__name__}('connection id', 'password')"
        hint = "anyone who can see the code, the task or its logs could read it; keep it in an Airflow connection"
        for message in found:
            yield Problem(message=message, allowed=allowed, hint=hint)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


# Split the values of a column into disjoint parts that cover all of them.
#
#     split_predicates("id", 0, 100, 4)   →   id < 25 OR id IS NULL │ id >= 25 AND id < 50 │ … │ id >= 75
#
# Bounds only determine the split points: the first and the last part have no limit.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateSplit(InputSplit):
    """What one subtask of a database source reads.

    `predicate` is SQL for the database; None if there is only one split, or if a bound is a template, which is only
    rendered in a run.
    """

    predicate: str | None


@dataclass(frozen=True, slots=True)
class Bound:
    """A split point as a number, with the SQL form of its kind of number."""

    kind: type
    position: int

    def literal(self, position: int) -> str:
        """Return a number as SQL of this kind: `25`, `DATE '2013-01-05'`, `TIMESTAMP '2013-01-05 00:00:00'`."""
        if self.kind is int:
            return str(position)
        if self.kind is date:
            return f"DATE '{date.fromordinal(position).isoformat()}'"
        moment = (_EPOCH + position * _MICROSECOND).replace(tzinfo=None)
        return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"


def parse_bound(text: str | int) -> Bound:
    """Parse a whole number, a date or a timestamp (ISO; UTC if it has no zone); raises ValueError."""
    try:
        return Bound(int, int(text))
    except ValueError:
        pass
    try:
        return Bound(date, date.fromisoformat(str(text)).toordinal())
    except ValueError:
        moment = datetime.fromisoformat(str(text))
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Bound(datetime, (moment - _EPOCH) // _MICROSECOND)


def split_predicates(column: str, lower: Bound, upper: Bound, parts: int) -> tuple[str | None, ...]:
    """Return a predicate for each part; there are fewer parts if there are fewer values between the bounds."""
    span = upper.position - lower.position
    parts = max(1, min(parts, span))
    if parts == 1:
        return (None,)
    cuts = [lower.literal(lower.position + span * number // parts) for number in range(1, parts)]
    middle = [f"{column} >= {start} AND {column} < {end}" for start, end in pairwise(cuts)]
    return (f"{column} < {cuts[0]} OR {column} IS NULL", *middle, f"{column} >= {cuts[-1]}")
