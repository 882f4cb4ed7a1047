"""The tree of an SQL expression, as far as it is certain without Spark.

    amount * 2 > :least     →  SqlCall(">", (SqlCall("*", (SqlName("amount"), SqlLiteral("INT"))), UNKNOWN))

What this grammar does not have (lambdas, queries, windows of rows) is `UNKNOWN` where it is in brackets, and else makes
the whole expression unknown: a text that Spark accepts is never refused here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from graph_compiler.declaration.sql_text import Token, name_at, tokens_of
from graph_compiler.declaration.sql_types.spark_types import type_of_cast


@dataclass(frozen=True, slots=True)
class SqlLiteral:
    """A value; `type` is Spark DDL, None if it is unknown."""

    type: str | None = None


UNKNOWN = SqlLiteral()
"""A part whose type only Spark knows: a parameter, a query, a lambda."""


@dataclass(frozen=True, slots=True)
class SqlName:
    """A column, without backticks; `side` is `left` or `right` if a join's condition says so."""

    column: str
    side: str | None = None


@dataclass(frozen=True, slots=True)
class SqlCall:
    """A function in lower case, or an operator in upper case, over its arguments; `text` is what was written.

    `also` are parts whose types do not decide its own: the conditions of a CASE.
    """

    function: str
    arguments: tuple[SqlNode, ...]
    text: str
    also: tuple[SqlNode, ...] = ()


@dataclass(frozen=True, slots=True)
class SqlCast:
    """A value as another type."""

    value: SqlNode
    type: str


SqlNode: TypeAlias = "SqlLiteral | SqlName | SqlCall | SqlCast"


@lru_cache(maxsize=1024)
def tree_of(text: str) -> SqlNode | None:
    """Return the tree of an expression, which may have a name or an order behind it; None if it is not understood."""
    if "${" in text:
        return None
    reader = _Reader(text)
    try:
        found = reader.expression(0)
        reader.skip_alias_or_order()
    except (ValueError, RecursionError):
        return None
    return found if reader.is_at_end and _is_shallow(found) else None


def _is_shallow(node: SqlNode) -> bool:
    """Whether no call is in too many others, so that functions may call themselves for each part."""
    level: list[SqlNode] = [node]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in inner_nodes(each)]
        if not level:
            return True
    return False


def inner_nodes(node: SqlNode) -> tuple[SqlNode, ...]:
    """Return the expressions directly in one."""
    match node:
        case SqlCast(value=value):
            return (value,)
        case SqlCall(arguments=arguments, also=also):
            return (*arguments, *also)
    return ()


def calls_in(node: SqlNode) -> Iterator[SqlCall]:
    """Yield the calls in an expression, operators included."""
    if isinstance(node, SqlCall):
        yield node
    for each in inner_nodes(node):
        yield from calls_in(each)


_DEEPEST = 100
_OR, _AND, _NOT, _COMPARED, _BIT_OR, _BIT_XOR, _BIT_AND, _ADDED, _MULTIPLIED, _SIGNED = range(1, 11)
_BINARY = {
    "OR": _OR,
    "AND": _AND,
    **dict.fromkeys(("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"), _COMPARED),
    **dict.fromkeys(("LIKE", "RLIKE", "ILIKE", "REGEXP", "IN", "BETWEEN", "IS", "NOT"), _COMPARED),
    "|": _BIT_OR,
    "^": _BIT_XOR,
    "&": _BIT_AND,
    **dict.fromkeys(("+", "-", "||"), _ADDED),
    **dict.fromkeys(("*", "/", "%", "DIV"), _MULTIPLIED),
}
"""How strongly an operator binds, as in Spark's `SqlBaseParser.g4`."""
_SAME = {
    **dict.fromkeys(("==", "<>", "!=", "<=>"), "="),
    **dict.fromkeys(("<=", ">", ">="), "<"),
    **dict.fromkeys(("ILIKE",), "LIKE"),
    **dict.fromkeys(("REGEXP",), "RLIKE"),
}
"""Operators that take the same types as another."""
_SYMBOLS = "<>=!|&^+-*/%~:"
_LONG = ("<=>", "<>", "<=", ">=", "==", "!=", "||", "->", "=>", "::", "<<", ">>")
_NUMBER = re.compile(
    r"(?P<whole>\d+)?(?P<point>\.\d*)?(?P<exponent>E[+-]?\d+)?(?P<kind>BD|[LSYFD])?(?!\w)", re.IGNORECASE
)
_KINDS = {"L": "BIGINT", "S": "SMALLINT", "Y": "TINYINT", "F": "FLOAT", "D": "DOUBLE"}
_MOST = {"INT": 2**31 - 1, "BIGINT": 2**63 - 1}
_LEAST = {str(most + 1): SqlLiteral(kind) for kind, most in _MOST.items()}
"""Whole numbers that have their type only behind a minus."""
_TYPED = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X", "R", "INTERVAL", "TIME"})
"""Words before a text that is a value of another type."""
_VALUES = {"TRUE": SqlLiteral("BOOLEAN"), "FALSE": SqlLiteral("BOOLEAN"), "NULL": UNKNOWN}
_TYPES_OF_WORDS = {"DATE": "DATE", "TIMESTAMP_NTZ": "TIMESTAMP_NTZ", "TIMESTAMP_LTZ": "TIMESTAMP", "X": "BINARY"}
_PLAIN_WITH_TWO = frozenset({"POSITION", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF"})
"""Functions of two arguments that also have a grammar of their own: with a unit, or with IN."""
_AFTER_A_CALL = frozenset({"WITHIN", "IGNORE", "RESPECT", "COLLATE"})
_AFTER_AN_ORDER = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})
_NO_OPERAND = frozenset({"SELECT", "FROM", "WHERE", "WHEN", "THEN", "ELSE", "END", "AS", "CASE", "DISTINCT"})


def _is_text(token: Token) -> bool:
    return token.is_quoted and not token.text.startswith("`")


class _Reader:
    """Reads one expression, from left to right."""

    def __init__(self, text: str) -> None:
        """Begin before the first token."""
        self._text, self._tokens, self._place = text, tokens_of(text), 0

    @property
    def is_at_end(self) -> bool:
        """Whether all tokens are read."""
        return self._place == len(self._tokens)

    def skip_alias_or_order(self) -> None:
        """Read what may follow an expression: AS and a name, or an order."""
        if self._take("AS"):
            self._token()
            self._place += 1
        while self._word() in _AFTER_AN_ORDER:
            self._place += 1

    def expression(self, least: int) -> SqlNode:
        """Read an expression whose operators bind more strongly than `least`."""
        start = self._place
        found = self._prefixed(least)
        while (binds := _BINARY.get(self._operator(), 0)) > least:
            found = self._binary(found, start, binds)
        return found

    def _prefixed(self, least: int) -> SqlNode:
        start, operator = self._place, self._operator()
        if operator in ("NOT", "!") and least < _COMPARED:
            self._skip(operator)
            return self._call("NOT", [self.expression(_NOT)], start)
        if operator in ("-", "+", "~"):
            self._skip(operator)
            if operator == "-" and (number := self._least_whole()) is not None:
                return number
            return self._call(operator, [self.expression(_MULTIPLIED)], start)
        found = self._primary()
        while self._operator() == "[":
            self._place += 1
            found = self._call("[]", [found, self.expression(0)], start, end="]")
        while self._take("."):  # a field of a value
            self._token()
            self._place += 1
            found = UNKNOWN
        return found

    def _binary(self, left: SqlNode, start: int, binds: int) -> SqlNode:
        operator = self._operator()
        self._skip(operator)
        if operator == "NOT":
            operator = self._operator()
            if operator not in ("LIKE", "RLIKE", "ILIKE", "REGEXP", "IN", "BETWEEN"):
                raise ValueError
            self._skip(operator)
        match operator:
            case "IS":
                return self._is(left, start)
            case "IN":
                return self._one_of(left, start)
            case "BETWEEN":
                lower = self.expression(_COMPARED)
                self._expect("AND")
                both = [self._call("<", [left, each], start) for each in (lower, self.expression(_COMPARED))]
                return self._call("AND", both, start)
        found = self._call(_SAME.get(operator, operator), [left, self.expression(binds)], start)
        if self._take("ESCAPE"):
            self._primary()
        return found

    def _is(self, left: SqlNode, start: int) -> SqlNode:
        self._take("NOT")
        if self._take("DISTINCT"):
            self._expect("FROM")
            return self._call("=", [left, self.expression(_COMPARED)], start)
        if self._word() not in ("NULL", "TRUE", "FALSE", "UNKNOWN"):
            raise ValueError
        self._place += 1
        return SqlLiteral("BOOLEAN")

    def _one_of(self, left: SqlNode, start: int) -> SqlNode:
        self._expect("(")
        if self._word() in ("SELECT", "WITH", "VALUES", "FROM", "TABLE"):
            self._skip_brackets()
            return SqlLiteral("BOOLEAN")
        return self._call("IN", [left, *self._listed(")")], start)

    def _primary(self) -> SqlNode:
        start, token = self._place, self._token()
        if _is_text(token):
            return self._quoted(token)
        if token.text[0].isdigit() or token.text == ".":
            return self._number(token)
        self._place += 1
        if token.text == ":":
            return self._parameter(token)
        if token.text == "(":
            return self._in_brackets()
        if not token.is_quoted and not token.text.isidentifier():
            raise ValueError
        return self._named(token, start)

    def _named(self, token: Token, start: int) -> SqlNode:
        """Read what begins with a word: a value, a call, or a column."""
        word = "" if token.is_quoted else token.text
        follows = self._tokens[self._place] if not self.is_at_end else None
        if word in _TYPED and follows is not None and (_is_text(follows) or follows.text.isdigit()):
            return self._typed(word)
        if word in _VALUES:
            return _VALUES[word]
        if word == "CASE":
            return self._case(start)
        if word in ("CAST", "TRY_CAST") and self._take("("):
            return self._cast()
        if word in _NO_OPERAND:
            raise ValueError
        if self._word() == "(":
            self._place += 1
            return self._function(token, word, start)
        return self._column(token)

    def _quoted(self, token: Token) -> SqlNode:
        while not self.is_at_end and _is_text(self._token()):
            self._place += 1
        return UNKNOWN if token.text.startswith('"') else SqlLiteral("STRING")

    def _number(self, token: Token) -> SqlNode:
        found = _NUMBER.match(self._text, token.start)
        if found is None or found.end() == token.start:
            raise ValueError
        while not self.is_at_end and self._token().start < found.end():
            self._place += 1
        whole, point = found["whole"] or "", found["point"]
        if kind := (found["kind"] or "").upper():
            return SqlLiteral(_KINDS.get(kind))
        if found["exponent"]:
            return SqlLiteral("DOUBLE")
        if point is not None:
            digits = len(whole.lstrip("0")) + len(point) - 1
            return SqlLiteral(f"DECIMAL({max(digits, len(point) - 1, 1)},{len(point) - 1})")
        return SqlLiteral(next((type for type, most in _MOST.items() if int(whole) <= most), None))

    def _least_whole(self) -> SqlNode | None:
        """Read the least value of a type of whole numbers, which stands behind a minus."""
        found = _LEAST.get(self._word())
        if found is None or self._text[self._token().end :][:1] in tuple(".eElLdDfFsSyYbB"):
            return None
        self._place += 1
        return found

    def _parameter(self, colon: Token) -> SqlNode:
        token = self._token()
        if token.is_quoted or token.start != colon.end:
            raise ValueError
        self._place += 1
        return UNKNOWN

    def _typed(self, word: str) -> SqlNode:
        self._place += 1
        if word == "INTERVAL":
            while not self.is_at_end and not self._token().is_quoted and self._word().isalpha():
                if self._word() in _BINARY or self._word() in ("AS", "THEN", "ELSE", "END", "WHEN"):
                    break
                self._place += 1
        return SqlLiteral("STRING" if word == "R" else _TYPES_OF_WORDS.get(word))

    def _in_brackets(self) -> SqlNode:
        start = self._place
        try:
            found = self.expression(0)
            self._expect(")")
        except ValueError:  # a query, or several values
            self._place = start
            self._skip_brackets()
            return UNKNOWN
        return found

    def _case(self, start: int) -> SqlNode:
        value = None if self._word() == "WHEN" else self.expression(0)
        checks, results = [], []
        while self._take("WHEN"):
            place, found = self._place, self.expression(0)
            checks.append(
                self._call("WHEN", [found], place) if value is None else self._call("=", [value, found], place)
            )
            self._expect("THEN")
            results.append(self.expression(0))
        if self._take("ELSE"):
            results.append(self.expression(0))
        self._expect("END")
        if not checks:
            raise ValueError
        return SqlCall("CASE", tuple(results), self._text_from(start), also=tuple(checks))

    def _cast(self) -> SqlNode:
        value = self.expression(0)
        self._expect("AS")
        first = self._place
        self._skip_brackets()
        last = self._place - 2
        if last < first:
            raise ValueError
        return SqlCast(value, type_of_cast(self._text[self._tokens[first].start : self._tokens[last].end]))

    def _function(self, token: Token, word: str, start: int) -> SqlNode:
        """Read the arguments of a call, and what may follow it."""
        first = self._place
        name = name_at(self._text, token).lower()
        try:
            arguments = self._arguments()
            is_known = word != "IDENTIFIER" and (word not in _PLAIN_WITH_TWO or len(arguments) == 2)
            found: SqlNode = self._call(name, arguments, start) if is_known else UNKNOWN
        except ValueError:
            self._place = first
            self._skip_brackets()
            found = UNKNOWN
        if self._take("FILTER"):
            self._expect("(")
            self._skip_brackets()
        if self._word() in _AFTER_A_CALL:
            raise ValueError
        if self._take("OVER"):
            if self._take("("):
                self._skip_brackets()
            else:
                self._place += 1
        return found

    def _arguments(self) -> list[SqlNode]:
        if self._word() == "*":
            self._place += 1
            self._expect(")")
            return [UNKNOWN]
        is_all = self._word() == "ALL"
        if self._word() == "DISTINCT" or is_all:
            self._place += 1
            if self._word() in (")", ","):  # a column of that name
                self._place -= 1
            elif is_all:  # before a sign, it may be a column, too
                raise ValueError
        return self._listed(")")

    def _listed(self, end: str) -> list[SqlNode]:
        if self._take(end):
            return []
        found = [self.expression(0)]
        while self._take(","):
            found.append(self.expression(0))
        self._expect(end)
        return found

    def _column(self, token: Token) -> SqlNode:
        path = [token]
        while self._word() == "." and self._place + 1 < len(self._tokens):
            path.append(self._tokens[self._place + 1])
            self._place += 2
        if self._word() == "(" or path[-1].text == "*":
            raise ValueError
        names = [name_at(self._text, each) for each in path]
        if names[0].lower() in ("left", "right") and len(names) == 2:  # a side and a column
            return SqlName(names[1], names[0].lower())
        return SqlName(names[0]) if len(names) == 1 else UNKNOWN

    def _call(self, function: str, arguments: Sequence[SqlNode], start: int, end: str | None = None) -> SqlCall:
        if end is not None:
            self._expect(end)
        return SqlCall(function, tuple(arguments), self._text_from(start))

    def _text_from(self, start: int) -> str:
        return self._text[self._tokens[start].start : self._tokens[self._place - 1].end]

    def _token(self) -> Token:
        if self.is_at_end:
            raise ValueError
        return self._tokens[self._place]

    def _word(self) -> str:
        """Return the next token if it is not quoted."""
        return "" if self.is_at_end or self._tokens[self._place].is_quoted else self._tokens[self._place].text

    def _operator(self) -> str:
        """Return the operator that comes next, which may be of several symbols."""
        word = self._word()
        if not word or word not in _SYMBOLS:
            return word
        run = "".join(self._symbols())
        return next((each for each in _LONG if run.startswith(each)), word)

    def _symbols(self) -> Iterator[str]:
        """Yield the symbols from here on that stand beside each other."""
        end = None
        for token in self._tokens[self._place : self._place + 3]:
            if token.is_quoted or token.text not in _SYMBOLS or end not in (None, token.start):
                return
            yield token.text
            end = token.end

    def _skip(self, operator: str) -> None:
        self._place += 1 if operator.isidentifier() else len(operator)

    def _take(self, word: str) -> bool:
        is_next = self._word() == word
        self._place += is_next
        return is_next

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise ValueError

    def _skip_brackets(self) -> None:
        """Go behind the bracket that closes one which is open."""
        depth = 1
        while depth:
            token = self._token()
            depth += 0 if token.is_quoted else (token.text in "([") - (token.text in ")]")
            self._place += 1
