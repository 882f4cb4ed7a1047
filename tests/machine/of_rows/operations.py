"""Operators on rows (k, v), and how each one's rows follow from those of its inputs, in plain Python.

Rows are pairs of a key's text and a number. Operators compare keys by equality, so a group may have any of its equal
keys: checks compare what equal keys have in common.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from graph_compiler import DataStream
from tests.machine.of_rows import functions

Pair = tuple[str | None, int | None]
Same = Callable[[str | None], Hashable]
"""Returns what the texts of equal keys have in common."""
Rows = Sequence[Pair]
_LARGEST = 997


@dataclass(frozen=True)
class Operation:
    """An operator: how it is declared, and which rows it returns for others, with equal keys made identical."""

    declare: Callable[..., DataStream]
    """Of its inputs, and a number that chooses among its forms."""
    expected: Callable[..., object]
    """Of its inputs' rows, and the same number."""
    chosen: Callable[[Rows], object] | None = None
    """What `expected` returns of an operator that keeps some rows of its input, which may be others each time."""
    changed: Sequence[Callable[..., object]] = ()
    """What it may return after a change of what it reads by itself."""
    inputs: int = 1
    keeps: bool = False
    """Whether its rows are identical to those of its inputs, not just equal."""
    grows: int = 1
    """How many rows it makes of one, at most."""


def _add(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _smallest_first(value: int | None) -> tuple[bool, int]:
    return value is not None, value or 0


def _groups(rows: Rows) -> dict[str | None, list[int | None]]:
    found: dict[str | None, list[int | None]] = defaultdict(list)
    for key, value in rows:
        found[key].append(value)
    return found


_AGGREGATES: Sequence[tuple[str, Callable[[list[int]], int | None]]] = (
    ("count(v)", len),
    ("sum(v)", lambda values: sum(values) if values else None),
    ("min(v)", lambda values: min(values, default=None)),
    ("max(v)", lambda values: max(values, default=None)),
    ("count(DISTINCT v)", lambda values: len(set(values))),
)


def _aggregate(rows: DataStream, n: int) -> DataStream:
    return rows.key_by("k").aggregate(v=_AGGREGATES[n % len(_AGGREGATES)][0])


def _aggregated(rows: Rows, n: int) -> Counter[Pair]:
    of = _AGGREGATES[n % len(_AGGREGATES)][1]
    known = {key: [v for v in values if v is not None] for key, values in _groups(rows).items()}
    return Counter((key, of(values)) for key, values in known.items())


def _window(rows: DataStream, n: int) -> DataStream:
    function = ("count(*) OVER (PARTITION BY k)", "row_number() OVER (PARTITION BY k ORDER BY v)")
    return rows.sql(f"SELECT k, CAST({function[n % 2]} AS BIGINT) AS v FROM {{input}}")


def _windowed(rows: Rows, n: int) -> Counter[Pair]:
    sizes = {key: len(values) for key, values in _groups(rows).items()}
    if n % 2 == 0:
        return Counter((key, sizes[key]) for key, _ in rows)
    return Counter((key, rank) for key, size in sizes.items() for rank in range(1, size + 1))


_JOINS = ("inner", "left", "semi", "anti", "full")


def _join(left: DataStream, right: DataStream, n: int) -> DataStream:
    how = _JOINS[n % len(_JOINS)]
    if how in ("semi", "anti"):
        return left.join(right, "k", how=how)  # type: ignore[arg-type]  # one of its words
    joined = left.join(right.rename({"v": "w"}), "k", how=how)  # type: ignore[arg-type]
    return joined.select("k", v=f"(coalesce(v, 0) * 10 + coalesce(w, 0)) % {_LARGEST}")


def _joined(left: Rows, right: Rows, n: int) -> Counter[Pair]:
    how = _JOINS[n % len(_JOINS)]
    others = _groups([row for row in right if row[0] is not None])
    if how in ("semi", "anti"):
        return Counter(row for row in left if (row[0] in others) is (how == "semi"))
    found: Counter[Pair] = Counter()
    for key, v in left:
        partners: Sequence[int | None] = others.get(key, () if how == "inner" else (None,))
        found.update((key, ((v or 0) * 10 + (w or 0)) % _LARGEST) for w in partners)
    if how == "full":
        there = {key for key, _ in left}
        found.update((key, (w or 0) % _LARGEST) for key, w in right if key not in there or key is None)
    return found


def _set(method: str) -> Callable[[DataStream, DataStream, int], DataStream]:
    return lambda left, right, n: getattr(left, method)(right, all=n % 2 == 1)


def _intersection(left: Rows, right: Rows, n: int) -> Counter[Pair]:
    found = Counter(left) & Counter(right)
    return found if n % 2 else Counter(set(found))


def _difference(left: Rows, right: Rows, n: int) -> Counter[Pair]:
    return Counter(left) - Counter(right) if n % 2 else Counter(set(left) - set(right))


def _first(rows: Rows, _: int) -> Counter[Pair]:
    return Counter((key, min(values, key=_smallest_first)) for key, values in _groups(rows).items())


def _all(rows: Rows, _: int) -> Counter[Pair]:
    return Counter(rows)


OPERATIONS: Mapping[str, Operation] = {
    "aggregate": Operation(_aggregate, _aggregated),
    "window": Operation(_window, _windowed),
    "distinct": Operation(lambda rows, _: rows.deduplicate(), lambda rows, _: Counter(set(rows))),
    "deduplicate": Operation(lambda rows, _: rows.deduplicate("k", order_by="v"), _first),
    "any of a key": Operation(
        lambda rows, _: rows.deduplicate("k"),
        lambda rows, _: {k for k, _ in rows},
        chosen=lambda rows: {k for k, _ in rows} if len({k for k, _ in rows}) == len(rows) else None,
    ),
    "limit": Operation(
        lambda rows, n: rows.limit(n % 3 + 1), lambda rows, n: min(len(rows), n % 3 + 1), chosen=len, keeps=True
    ),
    "sort": Operation(lambda rows, _: rows.sort("k", "v"), _all, keeps=True),
    "top": Operation(
        lambda rows, n: rows.top_n(n % 3 + 1, "v", "k"),
        lambda rows, n: sorted((v for _, v in rows), key=_smallest_first)[: n % 3 + 1],
        chosen=lambda rows: sorted((v for _, v in rows), key=_smallest_first),
        keeps=True,
    ),
    "select": Operation(
        lambda rows, n: rows.select("k", v=f"v % {n % 3 + 1}"),
        lambda rows, n: Counter((k, None if v is None else v % (n % 3 + 1)) for k, v in rows),
        keeps=True,
    ),
    "explode": Operation(
        lambda rows, _: rows.flat_map("explode(array(v, v + 1))", "w").select("k", v="w"),
        lambda rows, _: Counter(pair for k, v in rows for pair in ((k, v), (k, _add(v, 1)))),
        keeps=True,
        grows=2,
    ),
    "stage": Operation(lambda rows, _: rows.stage("the machine wants it").select("k", "v"), _all, keeps=True),
    "cache": Operation(lambda rows, _: rows.cache(), _all, keeps=True),
    "spread": Operation(lambda rows, _: rows.rebalance().select("k", "v"), _all, keeps=True),
    "function": Operation(lambda rows, _: rows.transform(functions.unchanged), _all, keeps=True),
    "union": Operation(
        lambda left, right, _: left.union(right).select("k", "v"),
        lambda left, right, _: Counter([*left, *right]),
        inputs=2,
        keeps=True,
        grows=2,
    ),
    "intersect": Operation(_set("intersect"), _intersection, inputs=2),
    "except": Operation(_set("except_"), _difference, inputs=2),
    "join": Operation(_join, _joined, inputs=2, grows=6),
}
"""Operators by name."""


def _reject(rows: DataStream, condition: str) -> tuple[DataStream, DataStream]:
    kept = rows.filter(condition, rejects="rest")
    return kept, kept.get_side_output("rest")


def _expect(rows: DataStream, condition: str) -> tuple[DataStream, DataStream]:
    kept = rows.expect("holds", condition, to="rest")
    return kept, kept.get_side_output("rest")


def _process(rows: DataStream, condition: str) -> tuple[DataStream, DataStream]:
    kept = rows.process(functions.by_condition, outputs=("rest",), condition=condition)
    return kept, kept.get_side_output("rest")


def _by_hand(rows: DataStream, condition: str) -> tuple[DataStream, DataStream]:
    return rows.filter(condition), rows.filter(f"NOT coalesce({condition}, false)")


SPLITS: Mapping[str, Callable[[DataStream, str], tuple[DataStream, DataStream]]] = {
    "filter": _reject,
    "contract": _expect,
    "function": _process,
    "by hand": _by_hand,
}
"""Ways to put each row into exactly one of two outputs."""


def why_not_expected(
    operation: Operation,
    n: int,
    inputs: Sequence[Rows],
    found: Rows,
    same: Same,
    is_exact: bool = True,
    *,
    is_changed: bool = False,
) -> str | None:
    """Return how an operator's rows differ from what its inputs' rows make; None if they do not.

    `is_exact` is False if the inputs' rows were computed here, with equal keys made identical. `is_changed`: what the
    operator reads by itself may have changed before.
    """

    def equal(rows: Rows) -> list[Pair]:
        return list(rows) if operation.keeps and is_exact else made_identical(rows, same)

    given = [equal(rows) for rows in inputs]
    there, expected = equal(found), operation.expected(*given, n)
    is_part = operation.chosen is None or not Counter(there) - Counter(given[0])
    of = Counter if operation.chosen is None else operation.chosen
    if is_part and of(there) == expected:
        return None
    if is_changed and any(Counter(there) == after(*given, n) for after in operation.changed):
        return None
    return f"it made {list(found)} of {[list(rows) for rows in inputs]}; expected: {expected}"


def made_identical(rows: Rows, same: Same) -> list[Pair]:
    """Return rows in which equal keys are identical."""
    return [(same(k), v) for k, v in rows]  # type: ignore[misc]  # a key's text, or a part of it
