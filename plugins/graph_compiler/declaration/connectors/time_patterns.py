"""Patterns of dates and times in options and SQL, where Spark would read one letter for another.

    dd-mm-yyyy             m is the minute: 15-03-2024 is read as 2024-01-15                        dd-MM-yyyy
    yyyy-MM-dd hh:mm       h is the hour of AM and PM: 12:30 is read as 00:30                       yyyy-MM-dd HH:mm
    yyyy-MM-dd HH:mm:SS    S is a fraction: 10:00:45 is read as 10:00:00.45                         yyyy-MM-dd HH:mm:ss

Spark accepts most of these. It takes what a pattern leaves out from 1970-01-01 00:00:00, and so each row has a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graph_compiler.declaration.sql_text import Token, tokens_of
from graph_compiler.errors import Problem
from graph_compiler.identifiers import shown

OPTIONS = frozenset({"dateformat", "timestampformat", "timestampntzformat"})
"""Options of Spark's readers and writers whose values are patterns, in lower case."""
_FUNCTIONS = frozenset(
    {
        *("DATE_FORMAT", "FROM_UNIXTIME", "TO_DATE", "TO_TIMESTAMP", "TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_NTZ"),
        *("TO_UNIX_TIMESTAMP", "TRY_TO_DATE", "TRY_TO_TIMESTAMP", "UNIX_TIMESTAMP"),
    }
)
"""Functions of Spark whose second argument is a pattern."""
_PIECE = re.compile(r"(?P<literal>'(?:[^']|'')*'?)|(?P<letters>([A-Za-z])\3*)|(?P<other>.)", re.DOTALL)
_HOURS, _MONTHS, _YEARS, _MS = ("H", "h", "K", "k"), "ML", "yu", ("m", "S")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of one letter, with the letter; or other text, with none."""

    text: str
    letter: str = ""


@dataclass(frozen=True, slots=True)
class PatternMistake:
    """What a pattern surely does not mean, and the pattern that was probably meant."""

    pattern: str
    reason: str
    meant: str

    @property
    def message(self) -> str:
        """Return what is wrong in the pattern."""
        return f"in the pattern {shown(self.pattern)}, {self.reason}"

    @property
    def hint(self) -> str:
        """Return which pattern was probably meant."""
        return f"did you mean {shown(self.meant)}?"


def mistake_in(pattern: str) -> PatternMistake | None:
    """Return the mistakes in a pattern; None if there are none, or if only Spark can judge it."""
    pieces = [_Piece(found[0], (found["letters"] or "")[:1]) for found in _PIECE.finditer(pattern)]
    reasons = []
    for find, letter, reason in _RULES:
        wrong = list(find(pieces))
        for place in wrong:
            pieces[place] = _Piece(letter * len(pieces[place].text), letter)
        reasons += [reason] if wrong else []
    meant = "".join(piece.text for piece in pieces)
    return PatternMistake(pattern, "; ".join(reasons), meant) if reasons else None


def mistakes_in_options(options: Iterable[tuple[str, object]]) -> Iterator[Problem]:
    """Yield the mistakes in each option that is a pattern."""
    for name, value in options:
        if str(name).lower() in OPTIONS and (mistake := mistake_in(str(value))):
            yield Problem(message=f"option '{name}': {mistake.message}", hint=mistake.hint)


def patterns_in(sql: str) -> Iterator[str]:
    """Yield the patterns that SQL text gives to Spark's functions as literals, and in maps of options."""
    yield from filter(None, _literals_in(tokens_of(sql)))


def _literals_in(tokens: Sequence[Token]) -> Iterator[str]:
    for place, token in enumerate(tokens):
        after = tokens[place + 1 : place + 3]
        if token.is_quoted and _literal(token).lower() in OPTIONS:
            if len(after) == 2 and after[0].text == "," and after[1].is_quoted:
                yield _literal(after[1])
        elif token.text in _FUNCTIONS and after and after[0].text == "(":
            yield from _second_argument(tokens[place + 2 :])


def _second_argument(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the second argument of a call if it is one literal; the tokens begin after `(`."""
    depth = 0
    arguments: list[list[Token]] = [[]]
    for token in tokens:
        is_plain = not token.is_quoted
        if is_plain and depth == 0 and token.text == ")":
            break
        if is_plain and depth == 0 and token.text == ",":
            arguments.append([])
            continue
        depth += is_plain and token.text in ("(", "[")
        depth -= is_plain and token.text in (")", "]")
        arguments[-1].append(token)
    if len(arguments) == 2 and len(arguments[1]) == 1 and arguments[1][0].is_quoted:
        yield _literal(arguments[1][0])


def _literal(token: Token) -> str:
    """Return the text of a literal; empty for quoted names, and for escapes, which Spark alone resolves."""
    quote = token.text[:1]
    if quote not in ("'", '"') or "\\" in token.text or not token.text[1:].endswith(quote):
        return ""
    return token.text[1:-1].replace(quote * 2, quote)


def _places(pieces: Sequence[_Piece], letters: str) -> list[int]:
    return [place for place, piece in enumerate(pieces) if piece.letter and piece.letter in letters]


def _years_of_weeks(pieces: Sequence[_Piece]) -> Iterator[int]:
    yield from _places(pieces, "Y")


def _months_after_hours(pieces: Sequence[_Piece]) -> Iterator[int]:
    """Yield `M` after an hour and a colon: `HH:MM`."""
    for place in _places(pieces, "M"):
        before = [(each.letter, each.text) for each in pieces[max(0, place - 2) : place]]
        if len(before) == 2 and before[0][0] in _HOURS and before[1] == ("", ":"):
            yield place


def _minutes_without_months(pieces: Sequence[_Piece]) -> Iterator[int]:
    """Yield `m` that is neither after an hour nor before a second, in a date without a month: `yyyy-mm-dd HH:mm`."""
    if not _places(pieces, _YEARS) or _places(pieces, _MONTHS):
        return
    runs = ["", *(piece.letter for piece in pieces if piece.letter), ""]
    places = [place for place, piece in enumerate(pieces) if piece.letter]
    for place, before, letter, after in zip(places, runs, runs[1:], runs[2:], strict=False):
        if letter == "m" and before not in _HOURS and after != "s":
            yield place


def _fractions_without_seconds(pieces: Sequence[_Piece]) -> Iterator[int]:
    """Yield `S` after a minute, if there is no second: `HH:mm:SS`."""
    runs = [place for place, piece in enumerate(pieces) if piece.letter]
    if not _places(pieces, "s"):
        yield from (place for before, place in pairwise(runs) if (pieces[before].letter, pieces[place].letter) == _MS)


def _half_days(pieces: Sequence[_Piece]) -> Iterator[int]:
    """Yield hours of AM and PM in a date that says neither: `yyyy-MM-dd hh:mm`."""
    if _places(pieces, _YEARS) and not _places(pieces, "aBHk"):
        yield from _places(pieces, "hK")


def _days_of_the_year(pieces: Sequence[_Piece]) -> Iterator[int]:
    """Yield `D` beside a month: `yyyy-MM-DD`."""
    if _places(pieces, _MONTHS) and not _places(pieces, "d"):
        yield from _places(pieces, "D")


_RULES: tuple[tuple[Callable[[Sequence[_Piece]], Iterator[int]], str, str], ...] = (
    (_years_of_weeks, "y", "Y is the year of a week"),
    (_months_after_hours, "m", "M after the hour is the month"),
    (_minutes_without_months, "M", "m is the minute, and there is no month"),
    (_fractions_without_seconds, "s", "S is a fraction of a second, and there is no second"),
    (_half_days, "H", "h and K are hours of a clock with AM and PM, and there is no a for these"),
    (_days_of_the_year, "d", "D is the day of the year"),
)
"""What finds the wrong letters, the letter that is meant, and the reason; each rule sees what the rules before left."""
