"""Names of an operator's output columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graph_compiler.errors import Problem


def names_twice(names: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each name that equals an earlier one; as in Spark, case is ignored."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            yield Problem(
                message=f"two of its columns are called '{name}'",
                hint="Spark treats names that differ only in case as the same",
            )
            return
        seen.add(name.lower())
