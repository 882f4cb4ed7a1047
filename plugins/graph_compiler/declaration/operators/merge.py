"""How a sink merges changes into a table: by the words of Spark's AUTO CDC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from graph_compiler.declaration.connectors.connector import as_columns
from graph_compiler.declaration.refusals.constructors import HeldToForm
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing, shown

STARTS, ENDS = "__START_AT", "__END_AT"
"""The columns that a table of type 2 has besides: a version is valid from the first to before the second."""


@dataclass(frozen=True, slots=True)
class Merge(metaclass=HeldToForm):
    """What a sink with `mode="merge"` does with rows of one key; without it, they replace the row that is there.

    `insert_only`: rows of keys that are there are left out. `sequence_by` is a column that says which of several
    changes of a key is the last one: a whole number, a DECIMAL, a DATE or a timestamp; older changes than the table
    has change nothing. `apply_as_deletes` is a BOOLEAN column, which is not stored: where it is true, the row of the
    key is removed. `scd_type=2` keeps a row for each version of a key, with the values of `sequence_by` from which
    (`__START_AT`) and before which (`__END_AT`, NULL for the current version) it is valid. With
    `track_history_columns`, only changes of these columns make a new version; others change it in place.
    """

    sequence_by: str | None = field(default=None, kw_only=True)
    apply_as_deletes: str | None = field(default=None, kw_only=True)
    insert_only: bool = field(default=False, kw_only=True)
    scd_type: int = field(default=1, kw_only=True)
    track_history_columns: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Keep the columns as a tuple."""
        object.__setattr__(self, "track_history_columns", as_columns(self.track_history_columns))

    @property
    def keeps_history(self) -> bool:
        """Whether a key has a row for each version."""
        return self.scd_type == 2

    def columns(self) -> tuple[str, ...]:
        """Return the columns that it names."""
        named = (self.sequence_by, self.apply_as_deletes, *self.track_history_columns)
        return tuple(name for name in named if name is not None)

    def problems(self, keys: tuple[str, ...]) -> Iterator[Problem]:
        """Yield what contradicts itself; `keys` are those of the sink."""
        if self.scd_type not in (1, 2):
            yield Problem(message=f"scd_type is {shown(self.scd_type)}", allowed="1 or 2")
            return
        if self.insert_only and (self.apply_as_deletes is not None or self.keeps_history):
            other = "apply_as_deletes" if self.apply_as_deletes is not None else "scd_type=2"
            yield Problem(message=f"it has insert_only and {other}", allowed="one of them")
        if self.keeps_history and self.sequence_by is None:
            yield Problem(
                message="scd_type is 2, and nothing says from when a version is valid",
                allowed='a column: sequence_by="changed_at"',
            )
        if self.track_history_columns and not self.keeps_history:
            yield Problem(message="track_history_columns is set, and no history is kept", allowed="scd_type=2")
        roles = [*keys, *self.columns()]
        names = [name.lower() for name in roles]
        if twice := sorted({name for name in roles if names.count(name.lower()) > 1}):
            yield Problem(
                message=f"a column has several roles: {listing(twice)}",
                allowed="a column is a key, or sequence_by, or apply_as_deletes, or tracked",
            )
