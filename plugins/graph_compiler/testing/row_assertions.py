"""Compare rows in any order, in the named columns, doubles within a tolerance; messages show the differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from graph_compiler.testing.hidden_frames import hides_frames

Row = Mapping[str, object]
RELATIVE = 1e-9
MOST_SHOWN = 10


@hides_frames
def assert_rows(
    found: Iterable[Row], expected: Iterable[Row], *, ordered: bool = False, relative: float = RELATIVE
) -> None:
    """Raise AssertionError unless both have the same rows.

    Only the columns that the expected rows name are compared; each of these rows names the same. `ordered`: also
    compare the order. Doubles may differ by `relative`, since Spark adds them in any order.
    """
    found, expected = list(found), list(expected)
    columns = _columns(found, expected)
    rest = [_only(row, columns) for row in found]
    wanted = [_only(row, columns) for row in expected]
    if ordered:
        same = len(rest) == len(wanted) and all(
            _equal(one, other, relative) for one, other in zip(rest, wanted, strict=True)
        )
        if not same:
            raise AssertionError(_in_order(rest, wanted, relative))
        return
    missing = [row for row in wanted if not _take(row, rest, relative)]
    if missing or rest:
        raise AssertionError(_difference(missing, rest, len(wanted), len(found)))


def in_order_of_values(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return rows sorted by their columns, NULL first, since Spark guarantees no order."""
    return sorted(rows, key=lambda row: [_sort_key(value) for value in row.values()])


def _columns(found: Sequence[Row], expected: Sequence[Row]) -> list[str]:
    if not expected:
        return list(found[0]) if found else []
    columns = list(expected[0])
    for number, row in enumerate(expected):
        if set(row) != set(columns):
            raise AssertionError(
                f"expected row {number} names {_names(row)}, and row 0 {_names(columns)}: name the same in each"
            )
    if found and (unknown := [name for name in columns if name not in found[0]]):
        raise AssertionError(f"there is no column {_names(unknown)}\n  found: {_names(found[0])}")
    return columns


def _take(row: Row, rest: list[dict[str, object]], relative: float) -> bool:
    """Remove an equal row from the rest, if there is one."""
    for position, other in enumerate(rest):
        if _equal(row, other, relative):
            del rest[position]
            return True
    return False


def _equal(one: object, other: object, relative: float) -> bool:
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, float) or isinstance(other, float):
        return _equal_numbers(one, other, relative)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[k], other[k], relative) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(_equal(a, b, relative) for a, b in zip(one, other, strict=True))
    return one == other


def _equal_numbers(one: object, other: object, relative: float) -> bool:
    if not (isinstance(one, int | float) and isinstance(other, int | float)):
        return one == other
    both_nan = math.isnan(one) and math.isnan(other)
    return both_nan or math.isclose(one, other, rel_tol=relative)


def _only(row: Row, columns: Sequence[str]) -> dict[str, object]:
    return {name: row[name] for name in columns}


def _sort_key(value: object) -> tuple[int, float, str]:
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, int | float):
        return (1, -math.inf if math.isnan(value) else float(value), "")
    return (2, 0.0, str(value))


def _difference(missing: Sequence[Row], extra: Sequence[Row], wanted: int, found: int) -> str:
    lines = [f"rows differ: {found} found, {wanted} expected"]
    for title, rows in (("expected, and not found", missing), ("found, and not expected", extra)):
        if rows:
            lines += [f"  {title}:", *(f"    {dict(row)}" for row in rows[:MOST_SHOWN])]
            if more := len(rows) - MOST_SHOWN:
                lines += [f"    and {more} more"] if more > 0 else []
    if len(missing) == len(extra) == 1:
        lines += [
            f"  {name}: found {extra[0][name]!r}, expected {value!r}"
            for name, value in missing[0].items()
            if not _equal(value, extra[0][name], RELATIVE)
        ]
    return "\n".join(lines)


def _in_order(found: Sequence[Row], wanted: Sequence[Row], relative: float) -> str:
    if len(found) != len(wanted):
        position = min(len(found), len(wanted))
    else:
        pairs = zip(found, wanted, strict=True)
        position = next(n for n, pair in enumerate(pairs) if not _equal(*pair, relative))
    lines = [f"rows differ, from row {position} on: {len(found)} found, {len(wanted)} expected, in order"]
    for title, rows in (("found", found), ("expected", wanted)):
        here = dict(rows[position]) if position < len(rows) else "no row"
        lines.append(f"  {title}: {here}")
    return "\n".join(lines)


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
