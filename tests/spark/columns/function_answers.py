"""What functions and operators of Spark take and return: `python -m tests.spark.columns.function_answers`.

A command, not a test. It asks the Spark at hand, and writes `spark_functions.json` anew; with `--keep` it takes out of
the file what this Spark says otherwise. The file has what all supported versions say, with and without ANSI mode.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

from py4j import java_gateway, protocol
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graph_compiler.declaration.sql_types.spark_functions import ALL, FACTS, MOST_TRIED, SAME
from graph_compiler.declaration.sql_types.spark_types import SAMPLED
from graph_compiler.spark_runtime.rehearsal.local_session import local_session

LITERALS = {
    "BOOLEAN": "true",
    "INT": "1",
    "BIGINT": "1L",
    "DOUBLE": "1.5D",
    "DECIMAL(10,2)": "12345678.25BD",
    "STRING": "'a'",
    "BINARY": "X'1F'",
    "DATE": "DATE'2026-01-01'",
    "TIMESTAMP": "TIMESTAMP_LTZ'2026-01-01 00:00:00'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2026-01-01 00:00:00'",
}
OTHER_LITERALS = {"INT": "3", "BIGINT": "3L", "DOUBLE": "3.5D", "DECIMAL(10,2)": "33345678.75BD", "STRING": "'b'"}
"""Values for which a function may give another type, although it takes the same types: `round(1.5, 3)`."""
NESTED: Mapping[str, Sequence[str]] = {
    "T": ("STRUCT<a: INT>", "STRUCT<k: STRING, v: INT>", "STRUCT<start: TIMESTAMP, end: TIMESTAMP>"),
    "A": (
        *("ARRAY<STRUCT<k: STRING, v: INT>>", "ARRAY<ARRAY<INT>>", "ARRAY<MAP<STRING, INT>>"),
        *(f"ARRAY<{kind}>" for kind in LITERALS),
    ),
    "M": (*(f"MAP<STRING, {kind}>" for kind in LITERALS), *(f"MAP<{kind}, INT>" for kind in LITERALS)),
}
SAMPLES: Mapping[str, Sequence[str]] = {**{letter: (kind,) for letter, kind in SAMPLED.items()}, **NESTED}
_BETWEEN = ("+", "-", "*", "/", "%", "DIV", "AND", "OR", "=", "<", "||", "&", "|", "^", "LIKE", "RLIKE")
OPERATORS = {
    **{(each, 2): f"{{0}} {each} {{1}}" for each in _BETWEEN},
    **{(each, 1): f"{each} {{0}}" for each in ("+", "-", "~", "NOT")},
    ("IN", 2): "{0} IN ({1})",
    ("[]", 2): "{0}[{1}]",
    ("CASE", 2): "CASE WHEN true THEN {0} ELSE {1} END",
    ("WHEN", 1): "CASE WHEN {0} THEN 1 END",
}
OPERATOR_NAMES = {name for name, _ in OPERATORS}
NOT_OF_TYPES = frozenset(
    {
        *("NON_FOLDABLE_INPUT", "VALUE_OUT_OF_RANGE", "UNEXPECTED_NULL", "INVALID_ARG_VALUE", "INPUT_SIZE_NOT_ONE"),
        *("WRONG_NUM_ENDPOINTS", "PARAMETER_CONSTRAINT_VIOLATION", "UNSPECIFIED_FRAME", "SPECIFIED_WINDOW_FRAME"),
    }
)
"""Refusals for another reason than types."""
WORDS = frozenset({"and", "or", "not", "in", "like", "between", "case", "when", "div", "rlike", "ilike", "regexp"})
"""Names of functions that are also words of the grammar, whose calls are other expressions."""
MODES: Sequence[Mapping[str, str]] = (
    {"spark.sql.ansi.enabled": "true"},
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
)


@dataclass(frozen=True)
class Answer:
    """What Spark says of an expression: its type, or the condition of its refusal."""

    type: str | None = None
    condition: str = ""

    @property
    def is_refusal(self) -> bool:
        """Whether Spark refuses the types."""
        head, _, reason = self.condition.partition(".")
        return head == "DATATYPE_MISMATCH" and reason not in NOT_OF_TYPES


@dataclass(frozen=True)
class Claim:
    """A fact of the file. `letters` are types that are refused, or that give `type`; None: the count is refused."""

    name: str
    count: int
    letters: str | None = None
    type: str | None = None


class Spark:
    """Answers questions about expressions, over a view with a column of each sampled type."""

    def __init__(self, session: SparkSession) -> None:
        """Make the view."""
        self._session = session
        self._columns = {kind: f"c{n}" for n, kind in enumerate(each for all in SAMPLES.values() for each in all)}
        values = [f"CAST(NULL AS {kind}) AS {name}" for kind, name in self._columns.items()]
        session.range(1).selectExpr(*values).createOrReplaceTempView("sampled")
        self._java: Any = session._jsparkSession  # a DataFrame costs more calls
        self.asked = 0

    def set(self, mode: Mapping[str, str]) -> None:
        """Set a mode, and nothing of another."""
        for key in {key for each in MODES for key in each}:
            self._session.conf.unset(key)
        for key, value in mode.items():
            self._session.conf.set(key, value)

    def functions(self) -> list[str]:
        """Return the names of functions that can be called."""
        names = [row[0] for row in self._session.sql("SHOW FUNCTIONS").collect()]
        return sorted(name for name in names if name.isidentifier() and name not in WORDS)

    def ask(self, text: str, view: str = "sampled") -> Answer:
        """Return what Spark says of an expression over a view."""
        self.asked += 1
        try:
            found: str = self._java.sql(f"SELECT {text} AS it FROM {view}").schema().toDDL()
        except PySparkException as error:
            return Answer(condition=error.getCondition() or "OTHER")
        except Py4JJavaError as error:
            with suppress(Py4JError):  # other exceptions have no condition
                return Answer(condition=error.java_exception.getCondition() or "OTHER")
            return Answer(condition="OTHER")
        return Answer(found.removeprefix("it ").removesuffix(" NOT NULL"))

    def may_have(self, name: str, count: int) -> bool:
        """Whether a function may be called with a number of arguments, of whichever types."""
        return not self.ask(_form(name, count).format(*["NULL"] * count)).condition.startswith("WRONG_NUM_ARGS")

    def of_types(self, name: str, types: Sequence[str]) -> Answer:
        """Return what Spark says of types: of columns, and of values in the text if it refuses those."""
        form = _form(name, len(types))
        answer = self.ask(form.format(*(self._columns[kind] for kind in types)))
        for parts in self._written(types) if answer.is_refusal or "NON_FOLDABLE" in answer.condition else ():
            answer = self.ask(form.format(*parts))
            if not answer.is_refusal:
                break
        return answer

    def _written(self, types: Sequence[str], *, each: bool = False) -> Iterator[list[str]]:
        """Yield arguments of which some are values in the text: those that Spark widens there, with `each` all."""
        for mask in product((False, True), repeat=len(types)):
            written = {kind for kind, is_written in zip(types, mask, strict=True) if is_written}
            if written and written <= set(LITERALS) and (each or False not in mask or written <= {"STRING", "INT"}):
                yield [LITERALS[k] if literal else self._columns[k] for k, literal in zip(types, mask, strict=True)]

    def holds(self, claim: Claim) -> bool:
        """Whether Spark says the same."""
        if claim.letters is None:
            return not self.may_have(claim.name, claim.count)
        if claim.type is None:
            return all(self.of_types(claim.name, types).is_refusal for types in samples_of(claim.letters))
        types = [SAMPLED[each] for each in claim.letters]
        form = _form(claim.name, claim.count)
        others = [[OTHER_LITERALS.get(kind, LITERALS[kind]) for kind in types]]
        others += [[self._columns[types[0]], *others[0][1:]]] if len(types) > 1 else []
        texts = (map(self._columns.get, types), *self._written(types, each=True), *others)
        return all(self.ask(form.format(*parts)).type in (None, claim.type) for parts in texts)


def _form(name: str, count: int) -> str:
    """Return a call with places for its arguments."""
    return OPERATORS.get((name, count)) or f"`{name}`({', '.join(['{}'] * count)})"


def samples_of(letters: str) -> Iterable[tuple[str, ...]]:
    """Return types for letters: of an array beside another value, arrays of such values, too."""
    if len(letters) == 1:
        return [(kind,) for kind in SAMPLES[letters]]
    one, other = letters[0], letters[1]
    return list(dict.fromkeys(product(_beside(one, other), _beside(other, one))))


def _beside(letter: str, other: str) -> Sequence[str]:
    kind = SAMPLED.get(other)
    match letter:
        case "A" if kind:
            return (f"ARRAY<{kind}>", "ARRAY<STRUCT<k: STRING, v: INT>>")
        case "M" if kind:
            return (f"MAP<{kind}, INT>", f"MAP<STRING, {kind}>")
    return SAMPLES[letter][:5]


def claims_of_types(spark: Spark, name: str, count: int) -> Iterator[Claim]:
    """Yield what a function refuses and returns; nothing if it takes nothing that was tried."""
    found: list[Claim] = []
    takes = False
    for letters in map("".join, product(SAMPLES, repeat=count)):
        if count > 1 and set(letters) <= set(NESTED):
            continue
        answers = [spark.of_types(name, types) for types in samples_of(letters)]
        takes |= any(each.type is not None for each in answers)
        if all(each.is_refusal for each in answers):
            found.append(Claim(name, count, letters))
        elif set(letters) <= set(SAMPLED) and answers[0].type and "<" not in answers[0].type:  # it may have names in it
            found.append(Claim(name, count, letters, answers[0].type))
    yield from found if takes else ()


def all_claims(spark: Spark) -> Iterator[Claim]:
    """Yield all facts of the Spark at hand."""
    for name in spark.functions():
        counts = [count for count in range(MOST_TRIED + 1) if spark.may_have(name, count)]
        yield from (Claim(name, count) for count in range(MOST_TRIED + 1) if count not in counts)
        for count in {1, 2} & set(counts):
            yield from claims_of_types(spark, name, count)
    for name, count in OPERATORS:
        yield from claims_of_types(spark, name, count)


def packed(names: Iterable[str], claims: Iterable[Claim]) -> dict[str, Any]:
    """Return the document of the file."""
    document: dict[str, Any] = {
        **{name: {"arguments": list(range(MOST_TRIED + 1))} for name in names},
        **{name: {} for name in OPERATOR_NAMES},
    }
    for claim in claims:
        fact, count = document[claim.name], str(claim.count)
        if claim.letters is None:
            fact["arguments"].remove(claim.count)
        elif claim.type is None:
            of = fact.setdefault("refuses", {}).setdefault(count, {})
            of[claim.letters[:-1]] = of.get(claim.letters[:-1], "") + claim.letters[-1]
        else:
            fact.setdefault("returns", {}).setdefault(count, {})[claim.letters] = claim.type
    for fact in document.values():
        for count, returned in fact.get("returns", {}).items():
            fact["returns"][count] = _shortened(returned, fact.get("refuses", {}).get(count, {}), int(count))
    return document


def _shortened(returned: Mapping[str, str], refused: Mapping[str, str], count: int) -> Mapping[str, str]:
    """Return one entry where all types that are not refused give the same, or their own."""
    if set(returned) == set(_taken(refused, count)):
        if len(set(returned.values())) == 1:
            return {ALL: next(iter(returned.values()))}
        if all(SAMPLED.get(letters) == kind for letters, kind in returned.items()):
            return {SAME: SAME}
    return returned


def _each_type(returned: Mapping[str, str], refused: Mapping[str, str], count: int) -> Mapping[str, str]:
    """Return what `_shortened` was given."""
    if ALL in returned:
        return dict.fromkeys(_taken(refused, count), returned[ALL])
    if SAME in returned:
        return {letters: SAMPLED[letters] for letters in _taken(refused, count)}
    return returned


def _taken(refused: Mapping[str, str], count: int) -> list[str]:
    """Return the letters that are not refused."""
    found = ("".join(each) for each in product(SAMPLED, repeat=count))
    return [letters for letters in found if letters[-1] not in refused.get(letters[:-1], "")]


def claims_of(document: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield the facts of a document."""
    for name, fact in document.items():
        counts = fact.get("arguments", range(MOST_TRIED + 1))
        yield from (Claim(name, count) for count in range(MOST_TRIED + 1) if count not in counts)
        for count, refused in fact.get("refuses", {}).items():
            yield from (Claim(name, int(count), first + each) for first, letters in refused.items() for each in letters)
        for count, returned in fact.get("returns", {}).items():
            each_type = _each_type(returned, fact.get("refuses", {}).get(count, {}), int(count))
            yield from (Claim(name, int(count), letters, kind) for letters, kind in each_type.items())


def text_of(document: Mapping[str, Any]) -> str:
    """Return a document as text, with a line for each function."""
    lines = (
        f"{json.dumps(name)}:{json.dumps(document[name], separators=(',', ':'), sort_keys=True)}"
        for name in sorted(document)
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    """Write the facts anew, or keep those that the Spark at hand confirms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="take out what the Spark at hand answers otherwise")
    chosen = parser.parse_args()
    with local_session() as session:
        java_gateway.get_return_value = protocol.get_return_value  # pyspark's converts and logs each exception
        spark = Spark(session)
        spark.set(MODES[0])
        there = set(spark.functions())
        before = json.loads(FACTS.read_text(encoding="utf-8")) if chosen.keep else {}
        claims = list(claims_of(before) if chosen.keep else all_claims(spark))
        print(len(claims), "facts", spark.asked, "questions", flush=True)
        for mode in MODES:
            spark.set(mode)
            is_other = {each for each in claims if each.name in there | OPERATOR_NAMES and not spark.holds(each)}
            claims = [claim for claim in claims if claim not in is_other]
            print(mode, len(is_other), "facts are other;", spark.asked, "questions", flush=True)
        names = there | {name for name, fact in before.items() if "arguments" in fact}
    FACTS.write_text(text_of(packed(sorted(names), claims)), encoding="utf-8")


if __name__ == "__main__":
    main()
