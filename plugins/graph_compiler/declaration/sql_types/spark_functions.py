"""What Spark's functions and operators take and return, as Spark itself answered: `spark_functions.json`.

`python -m tests.spark.columns.function_answers` makes the file; it has what all supported versions of Spark say. A type
is a letter in it: I for INT, and for what Spark widens to INT.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from graph_compiler.declaration.sql_types.spark_types import NAMES, SAMPLED, letter_of
from graph_compiler.identifiers import counted

FACTS = Path(__file__).with_name("spark_functions.json")
_READ: Mapping[str, Mapping[str, Any]] = json.loads(FACTS.read_text(encoding="utf-8"))
MOST_TRIED = 8
"""With how many arguments a function was called at most."""
SAME, ALL = "=", "*"
"""For all types that a function takes: it returns the type of its argument, or one type."""


@dataclass(frozen=True, slots=True)
class SparkFunction:
    """A function, or an operator in upper case.

    `counts`: with how many arguments it may be called, empty for an operator. `refuses` and `returned` have letters of
    types by the number of arguments.
    """

    name: str
    counts: tuple[int, ...]
    refuses: Mapping[int, Mapping[str, str]]
    returned: Mapping[int, Mapping[str, str]]

    @property
    def words(self) -> str:
        """What messages call it."""
        return {"WHEN": "a condition", "[]": "[…]", "<": "a comparison", "=": "a comparison"}.get(self.name, self.name)

    @property
    def counts_words(self) -> str:
        """The numbers of arguments that it may have, as text."""
        if self.counts[-1] == MOST_TRIED:
            return f"{self.counts[0]} or more arguments"
        *rest, last = self.counts
        return " or ".join([*map(str, rest), counted(last, "argument")])

    def may_have(self, count: int) -> bool:
        """Whether it may be called with this number of arguments; operators may, and more than were tried."""
        return not self.counts or count in self.counts or count > MOST_TRIED

    def takes(self, types: Sequence[str | None]) -> bool:
        """Whether Spark may accept arguments of some types; None is a type that is unknown."""
        letters = [letter_of(type) or "?" for type in types]
        return not letters or letters[-1] not in self._refused_beside(letters[:-1])

    def taken_beside(self, types: Sequence[str | None]) -> list[str]:
        """Return the types that Spark takes in place of the last argument."""
        refused = self._refused_beside([letter_of(type) or "?" for type in types[:-1]])
        asked = NAMES if len(types) == 1 else SAMPLED
        return [NAMES[letter] for letter in asked if letter not in refused]

    def _refused_beside(self, letters: Sequence[str]) -> str:
        return self.refuses.get(len(letters) + 1, {}).get("".join(letters), "")

    def returns(self, types: Sequence[str | None]) -> str | None:
        """Return the type of a call, None if it is not certain."""
        of_count = self.returned.get(len(types), {})
        letters = [letter_of(type) for type in types]
        if not all(letter in SAMPLED for letter in letters):
            return None
        if SAME in of_count or ALL in of_count:
            return of_count.get(ALL, types[0] if types else None)
        is_sampled = all(type == SAMPLED[str(letter)] for type, letter in zip(types, letters, strict=True))
        return of_count.get("".join(map(str, letters))) if is_sampled else None


def function_names() -> Sequence[str]:
    """Return the names of all functions that a supported version of Spark has."""
    return [name for name, fact in _READ.items() if "arguments" in fact]


@cache
def spark_function(name: str) -> SparkFunction | None:
    """Return what is known of a function in lower case, or of an operator; None for another name."""
    fact = _READ.get(name)
    if fact is None:
        return None
    return SparkFunction(
        name=name,
        counts=tuple(fact.get("arguments", ())),
        refuses={int(count): of for count, of in fact.get("refuses", {}).items()},
        returned={int(count): of for count, of in fact.get("returns", {}).items()},
    )
