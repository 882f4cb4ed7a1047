"""Items of an order, as Spark SQL, which Spark alone can resolve: mistakes that show without it.

    amount descending     two names beside each other: did you mean DESC?
    amount NULLS LAST DESC, amount DESC ASC, day,,id, amount NULLS, amount LIMIT 5

An order that Spark accepts is never refused, so text that this module does not understand is left to Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from graph_compiler.declaration.sql_text import Token, tokens_of, unclosed_in
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, shown

ITEMS = (
    'columns or expressions, with ASC, DESC, NULLS FIRST or NULLS LAST: "amount DESC NULLS LAST"'
)
_DIRECTIONS = frozenset({"ASC", "DESC"})
_PLACES = frozenset({"FIRST", "LAST"})
_LONG_WORDS = {"DESCENDING": "DESC", "ASCENDING": "ASC", "DOWN": "DESC", "UP": "ASC"}
_CLAUSES = frozenset({"LIMIT", "OFFSET", "WHERE", "HAVING", "GROUP", "ORDER", "UNION", "WINDOW"})
_OWN_GRAMMAR = frozenset({"CASE", "INTERVAL", "${", "|>"})
"""What begins text in which names stand beside each other."""
_WORDS_OF_EXPRESSIONS = frozenset((
    "ALL", "AND", "ANTI", "ANY", "AS", "ASC", "AT", "BETWEEN", "BY", "COLLATE", "DATE", "DESC", "DISTINCT", "DIV",
    "ELSE", "END", "ESCAPE", "EXCEPT", "EXISTS", "FALSE", "FILTER", "FIRST", "FROM", "IGNORE", "ILIKE", "IN",
    "INTERSECT", "IS", "JOIN", "LAST", "LIKE", "MINUS", "NOT", "NULL", "NULLS", "ON", "OR", "OVER", "PRIOR",
    "REGEXP", "RESPECT", "RLIKE", "SELECT", "SOME", "SYSTEM", "TABLE", "THEN", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ", "TO", "TRUE", "UNKNOWN", "USING", "VALUES", "WHEN", "WITH", "WITHIN", "X", "ZONE",
))  # fmt: skip
"""Words that may stand beside a name in one expression, or may be no name."""


def order_problems(order_by: Iterable[str]) -> Iterator[Problem]:
    """Yield the problems of the items of an order, as far as they show without Spark."""
    for item in order_by:
        if "${" not in item and item.strip() and unclosed_in(item) is None:
            for part in _parts(list(tokens_of(item))):
                if found := _mistake(part, item):
                    message, hint = found
                    yield Problem(
                        message=f"its order {shown(item)} {message}", allowed=ITEMS, hint=hint
                    )
                    break


def _parts(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens between commas that are in no brackets; what is in brackets is one token."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        is_plain = not token.is_quoted
        depth -= is_plain and token.text in (")", "]")
        if depth == 0 and is_plain and token.text == ",":
            yield part
            part = []
        elif depth == 0:
            part.append(token)
        depth += is_plain and token.text in ("(", "[")
    yield part


def _mistake(part: Sequence[Token], item: str) -> tuple[str, str | None] | None:
    """Return the mistake in a part of an order, and a hint."""
    if not part:
        return "has an empty item", None
    texts = ["" if token.is_quoted else token.text for token in part]
    if _OWN_GRAMMAR & set(texts):
        return None
    if len(part) > 3 and texts[-1] in _DIRECTIONS and texts[-2] in _PLACES and texts[-3] == "NULLS":
        return f"has {texts[-1]} after NULLS {texts[-2]}", "ASC or DESC is before NULLS"
    for before, after in pairwise(part):
        if _is_name(before) and not after.is_quoted and _is_word(after.text):
            if after.text in _WORDS_OF_EXPRESSIONS:
                continue
            word, name = item[after.start : after.end], item[before.start : before.end]
            if after.text in _CLAUSES:
                return f"contains another clause ({after.text})", _hint_for(after.text)
            meant = _LONG_WORDS.get(after.text)
            hint = f"did you mean '{meant}'?" if meant else None
            return f"has {shown(word)} after {name}", hint or did_you_mean(
                after.text, sorted(_DIRECTIONS)
            )
    return None


def _hint_for(clause: str) -> str | None:
    return "for the first rows of an order, use top_n(…)" if clause == "LIMIT" else None


def _is_name(token: Token) -> bool:
    """Whether a token can only be a name, or the end of one."""
    if token.is_quoted:
        return token.text.startswith("`")
    return _is_word(token.text) and token.text not in _WORDS_OF_EXPRESSIONS


def _is_word(text: str) -> bool:
    return text.isidentifier()
