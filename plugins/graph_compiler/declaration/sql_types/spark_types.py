"""Types of Spark as text: one form for each, and the letter under which Spark was asked about it."""

from __future__ import annotations

import re

from graph_compiler.declaration.sql_text import code_of

_SAME = {
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "SHORT": "SMALLINT",
    "BYTE": "TINYINT",
    "REAL": "FLOAT",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), "DECIMAL(10,0)"),
}
_DECIMAL = re.compile(r"(?:DECIMAL|DEC|NUMERIC)\((\d+)(?:,(\d+))?\)")
_OF_LENGTH = re.compile(r"\b(?:VAR)?CHAR(?:ACTER)?\s*\(\s*(?P<most>\d+)\s*\)", re.IGNORECASE)
_LETTERS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT"), "I"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "D"),
    **dict.fromkeys(("STRING", "VARCHAR", "CHAR"), "S"),
    "BOOLEAN": "B",
    "BIGINT": "L",
    "DECIMAL": "N",
    "BINARY": "X",
    "DATE": "d",
    "TIMESTAMP": "t",
    "TIMESTAMP_NTZ": "u",
    "ARRAY": "A",
    "MAP": "M",
    "STRUCT": "T",
}
NAMES = {
    "B": "BOOLEAN",
    "I": "INT",
    "L": "BIGINT",
    "D": "DOUBLE",
    "N": "DECIMAL",
    "S": "STRING",
    "X": "BINARY",
    "d": "DATE",
    "t": "TIMESTAMP",
    "u": "TIMESTAMP_NTZ",
    "A": "ARRAY",
    "M": "MAP",
    "T": "STRUCT",
}
"""The letters of types: what Spark says of INT holds for types that it widens to INT, too."""
SAMPLED = {letter: "DECIMAL(10,2)" if letter == "N" else name for letter, name in NAMES.items() if letter not in "AMT"}
"""The type without other types in it that Spark was asked about for a letter."""


def type_of_text(text: str) -> str:
    """Return a type in one form: `decimal( 9, 2 )` is DECIMAL(9,2). Types with fields stay as they are written."""
    one_line = " ".join(text.split())
    if "<" in one_line:
        return one_line
    plain = one_line.upper().replace(" (", "(").replace("( ", "(").replace(" )", ")")
    plain = plain.replace(", ", ",").replace(" ,", ",")
    if decimal := _DECIMAL.fullmatch(plain):
        return f"DECIMAL({decimal[1]},{decimal[2] or 0})"
    return _SAME.get(plain, plain)


def longest_text(type: str) -> int | None:
    """Return the most characters of CHAR or VARCHAR, None for other types."""
    found = _OF_LENGTH.fullmatch(type.strip())
    return int(found["most"]) if found else None


def has_length(type: str) -> bool:
    """Whether CHAR or VARCHAR with a length is in a type, at any depth."""
    return _OF_LENGTH.search(code_of(type)) is not None


def type_of_cast(text: str) -> str:
    """Return the type of what is cast to a type, in one form: texts of a length are texts of any length for Spark."""
    return type_of_text(_OF_LENGTH.sub("STRING", text))


def letter_of(type: str | None) -> str | None:
    """Return the letter of a type, None for one that Spark was not asked about."""
    if type is None or " COLLATE " in type.upper():
        return None
    return _LETTERS.get(type.partition("<")[0].partition("(")[0].strip().upper())
