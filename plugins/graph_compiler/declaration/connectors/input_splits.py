"""Split the values of a column into disjoint parts that cover all of them.

    split_predicates("id", 0, 100, 4)   →   id < 25 OR id IS NULL │ id >= 25 AND id < 50 │ … │ id >= 75

Bounds only determine the split points: the first and the last part have no limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from graph_compiler.declaration.coordination import InputSplit

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
