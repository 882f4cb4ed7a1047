"""SQL text as Spark reads it: words, quotes and comments; and whether a text is a query.

    /* daily */ WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a     a command (INSERT INTO)

Spark's parser has the last word (`spark_runtime/operators/scope.py`). This module finds the same mistakes where there
is no Spark. It must not refuse a query that Spark accepts, so it leaves text that it does not understand to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, pairwise, takewhile

from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, shown

QUERIES = "SELECT …, WITH … SELECT, VALUES …, TABLE … or FROM …"
_SPACES = " \t\n\f\r\v\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000"
_TOKEN = re.compile(
    rf"""
    (?P<space>  [{_SPACES}]+ | --(?:\\\n|[^\r\n])*\r?\n? )
    | (?P<comment> /\*(?!\+) )
    | (?P<quoted> r'[^']*' | r"[^"]*"
        | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `(?:[^`]|``)*` )
    | (?P<unclosed> ['"`] )
    | (?P<word> \w+ )
    | (?P<symbol> \|> | . )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_BOUND = re.compile(r"(?<![\w:\])]):([A-Za-z_]\w*)")
"""Neither `::int` (a cast) nor `v:field` (a path into a variant)."""
_COMMENT_BORDER = re.compile(r"/\*(?!\+)|\*/")
_VARIABLE = "${"
"""Where Spark's own variables begin, which Spark replaces by any text before it parses."""

_BRACKETS = {"(": ")", "[": "]"}
_OPENINGS = {end: opening for opening, end in _BRACKETS.items()}
_SELECTS = frozenset({"SELECT", "MAP", "REDUCE"})
_QUERY_WORDS = _SELECTS | {"WITH", "VALUES", "TABLE", "FROM"}
"""The words that a query begins with in Spark 4."""
_BEFORE_A_NAME = frozenset({"FROM", "JOIN", "LATERAL", "STREAM", "AS", ",", "."})
WRITING_WORDS = frozenset(
    {"INSERT", "MERGE", "UPDATE", "DELETE", "CREATE", "REPLACE", "LOAD", "TRUNCATE", "DROP", "ALTER"}
)
_COMMAND_WORDS = WRITING_WORDS | {
    *("ADD", "ANALYZE", "CACHE", "CALL", "CLEAR", "CLOSE", "COMMENT", "COMMIT", "DECLARE", "DESC"),
    *("DESCRIBE", "DFS", "EXECUTE", "EXPLAIN", "EXPORT", "FETCH", "GRANT", "IMPORT", "LIST", "LOCK"),
    *("MSCK", "OPEN", "REFRESH", "REPAIR", "RESET", "REVOKE", "ROLLBACK", "SET", "SHOW", "START"),
    *("UNCACHE", "UNLOCK", "USE"),
}
_SECOND_WORDS = frozenset(
    {
        *("ARCHIVE", "ARCHIVES", "CATALOG", "CACHE", "DATA", "DATABASE", "DIRECTORY", "EXTERNAL"),
        *("FILE", "FILES", "FLOW", "FUNCTION", "GLOBAL", "IMMEDIATE", "INDEX", "INPATH", "INTO", "JAR"),
        *("JARS", "LAZY", "LOCAL", "MATERIALIZED", "NAMESPACE", "OR", "OVERWRITE", "PROCEDURE"),
        *("QUERY", "REPLACE", "SCHEMA", "STREAMING", "TABLE", "TABLES", "TEMP", "TEMPORARY", "VAR"),
        *("VARIABLE", "VIEW"),
    }
)
"""Words that may follow in a command's name: INSERT OVERWRITE LOCAL DIRECTORY."""
_HINTS: Mapping[str, str | None] = {
    **dict.fromkeys(("INSERT", "MERGE", "CREATE", "REPLACE", "LOAD"), "to write rows, use sink_to"),
    **dict.fromkeys(("SET", "RESET"), "Spark's settings are in the conf of a slot sharing group"),
    "ADD": "a pipeline names its files and jars: env.add_files(…), env.add_jars(…)",
    "CACHE": "to keep rows for several readers, use cache()",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A word in upper case, a quoted text, or a symbol, and its place in the text."""

    text: str
    is_quoted: bool
    start: int
    end: int


@lru_cache(maxsize=1024)
def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of SQL text, without spaces and comments; several checks ask for those of one text.

    A quote or a comment that is not closed is one last token, up to the end of the text.
    """
    return tuple(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    position = 0
    while found := _TOKEN.match(text, position):
        kind, start, position = found.lastgroup, found.start(), found.end()
        if kind == "comment" and (end := _end_of_comment(text, position)) is not None:
            position = end
        elif kind in ("comment", "unclosed"):
            yield Token(text[start:], is_quoted=True, start=start, end=len(text))
            return
        elif kind != "space":
            is_quoted = kind == "quoted"
            yield Token(found[0] if is_quoted else found[0].upper(), is_quoted, start, position)


def name_at(text: str, token: Token) -> str:
    """Return the name that a token is, as the text has it, without its backticks."""
    written = text[token.start : token.end]
    return written[1:-1].replace("``", "`") if written.startswith("`") else written


def _end_of_comment(text: str, position: int) -> int | None:
    """Return where a comment ends that begins before this position; a comment in it must end first."""
    depth = 1
    while border := _COMMENT_BORDER.search(text, position):
        depth += 1 if border[0] == "/*" else -1
        position = border.end()
        if depth == 0:
            return position
    return None


def code_of(text: str) -> str:
    """Return SQL text with a space in place of each comment and each quoted text."""
    pieces, end = [], 0
    for token in tokens_of(text):
        pieces += [" "] if token.is_quoted or token.start > end else []
        pieces += [] if token.is_quoted else [text[token.start : token.end]]
        end = token.end
    return "".join(pieces)


def bound_names(expression: str) -> Iterator[str]:
    """Yield the parameters that are bound in an expression, as `:name`."""
    yield from _BOUND.findall(code_of(expression))


def without_end(text: str) -> str:
    """Return a statement without the semicolons at its end, and without the comments between and after them."""
    tokens = tokens_of(text)
    ends = list(takewhile(lambda token: token.text == ";", reversed(tokens)))
    return text[: ends[-1].start] if ends else text


def has_several_statements(text: str) -> bool:
    """Whether code follows a semicolon: Spark takes one statement, with semicolons only at its end."""
    tokens = [token.text for token in tokens_of(text.partition(_VARIABLE)[0])]
    return any(first == ";" != second for first, second in pairwise(tokens))


def unclosed_in(text: str) -> str | None:
    """Return what a text has that begins or ends outside of it: a bracket, a quote, or a comment.

    An expression is put into a query in brackets, and there `a) OR (b` would change the query. Return None for text
    with Spark's variables: their values are unknown here.
    """
    if _VARIABLE in text:
        return None
    tokens = tokens_of(f"{text}\n)")  # as it will be followed
    opened: list[str] = []
    for token in tokens:
        if token.start > len(text):
            return f"{opened[-1]} without {_BRACKETS[opened[-1]]}" if opened else None
        if token.end > len(text):
            is_comment = token.text.startswith("/*")
            return "/* without */" if is_comment else f"{token.text[0]} without {token.text[0]}"
        if token.text in _BRACKETS:
            opened.append(token.text)
        elif token.text in _OPENINGS and (not opened or opened.pop() != _OPENINGS[token.text]):
            return f"{token.text} without {_OPENINGS[token.text]}"
    return "a comment that continues in the next line"


def command_in(text: str) -> str | None:
    """Return the name of the command that a text is, such as `INSERT INTO`; None for all other text."""
    words = [token.text for token in _main(tokens_of(text.partition(_VARIABLE)[0]))]
    if not words or words[0] not in _COMMAND_WORDS:
        return None
    return " ".join([words[0], *takewhile(_SECOND_WORDS.__contains__, words[1:])])


def query_problem(text: str) -> Problem | None:
    """Return why a text is not a query; None for a query, and for text that only Spark can judge."""
    statement = _main(tokens_of(text.partition(_VARIABLE)[0]))
    if not statement:
        return None if _VARIABLE in text else not_a_query("its SQL has only comments")
    first = statement[0]
    hint: str | None = "write an operator for each query"
    if command := command_in(text):
        found, hint = f"is a command ({command}), not a query", _HINTS.get(first.text)
    elif first.text == "BEGIN":
        found = "is a script (BEGIN), not a query"
    elif first.text not in _QUERY_WORDS:
        found, hint = (_beginning(text[first.start : first.end]), did_you_mean(first.text, sorted(_QUERY_WORDS)))
    elif has_several_statements(text):
        found = "has several statements"
    elif unclosed := unclosed_in(f"{text}\n"):
        found, hint = f"has {unclosed}", None
    else:
        return None
    return not_a_query(f"its SQL {found}", hint)


def _beginning(word: str) -> str:
    is_open = word.startswith("/*")
    return "begins with a comment that is not closed" if is_open else f"begins with {shown(word)}"


def not_a_query(message: str, hint: str | None = None) -> Problem:
    """Return the problem of a text that is not a query."""
    return Problem(message=message, allowed=QUERIES, hint=hint)


def _main(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return a statement from the word on that shows what it does: after `(` and the queries of a WITH.

    That word is the INSERT in `FROM t INSERT INTO a SELECT …`.
    """
    tokens = list(dropwhile(lambda token: token.text == "(", tokens))
    first = tokens[0].text if tokens else None
    if first == "WITH" and (rest := _after_with(tokens)):
        return _main(rest)
    return (_insert_after_from(tokens) if first == "FROM" else ()) or tokens


def _after_with(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return what follows `WITH a (columns) AS (query), b AS (query)`; nothing if the text has another form."""
    position = 0
    while group := _next_group(tokens, position):
        opening, position = group
        inside = list(dropwhile(lambda token: token.text == "(", tokens[opening + 1 : position]))
        is_names = all(token.text == "," for token in inside[1::2])  # columns may have any names
        position += 1
        if inside and inside[0].text in _QUERY_WORDS and not is_names:
            rest = tokens[position:]
            if not rest or rest[0].text != ",":
                return rest
    return ()


def _next_group(tokens: Sequence[Token], position: int) -> tuple[int, int] | None:
    """Return the places of the next `(` and of the `)` that closes it."""
    opening, depth = None, 0
    for place in range(position, len(tokens)):
        if tokens[place].text == "(":
            opening = place if opening is None else opening
            depth += 1
        elif tokens[place].text == ")" and opening is not None:
            depth -= 1
            if depth == 0:
                return opening, place
    return None


def _insert_after_from(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return `INSERT INTO a SELECT …` from `FROM t INSERT INTO a SELECT …`; tables and aliases may be called insert."""
    outer = list(_outside_brackets(tokens))
    words = [token.text for token in outer]
    for place, (before, word, after) in enumerate(zip(words, words[1:], words[2:], strict=False), start=1):
        is_alias = before == "(" and "VIEW" in words[:place]  # LATERAL VIEW explode(…) alias
        if is_alias or before in _BEFORE_A_NAME:
            continue
        if word in _SELECTS or word == "|>":
            return ()
        if word == "INSERT" and after in ("INTO", "OVERWRITE"):
            return outer[place:]
    return ()


def _outside_brackets(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens outside round brackets, and each outer `(`."""
    depth = 0
    for token in tokens:
        if depth == 0 and token.text != ")":
            yield token
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            return


# Items of an order, as Spark SQL, which Spark alone can resolve: mistakes that show without it.
#
#     amount descending     two names beside each other: did you mean DESC?
#     amount NULLS LAST DESC, amount DESC ASC, day,,id, amount NULLS, amount LIMIT 5
#
# An order that Spark accepts is never refused, so text that this module does not understand is left to Spark.

ITEMS = 'columns or expressions, with ASC, DESC, NULLS FIRST or NULLS LAST: "amount DESC NULLS LAST"'
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
            for part in _parts(tokens_of(item)):
                if found := _mistake(part, item):
                    message, hint = found
                    yield Problem(message=f"its order {shown(item)} {message}", allowed=ITEMS, hint=hint)
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
            return f"has {shown(word)} after {name}", hint or did_you_mean(after.text, sorted(_DIRECTIONS))
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
