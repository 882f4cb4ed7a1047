"""Names of the columns that an operator gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graph_compiler.errors import Problem


def names_twice(names: Sequence[str]) -> Iterator[Problem]:
    """Find two names that Spark takes for one: they differ in case at most."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            yield Problem(
                message=f"two of its columns are called '{name}'",
                hint="Spark treats names that differ only in case as the same",
            )
            return
        seen.add(name.lower())
