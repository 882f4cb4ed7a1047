"""A value that Airflow keeps: the declaration names it, and only the running driver knows it.

    Jdbc("jdbc:postgresql://db/sales", table="orders", user="etl", password=Secret("sales_db", "password"))

The task reads it from the Airflow connection and passes it to Spark's driver in an environment variable. It is never in
an argument, a document, a log or a plan.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

from graph_compiler.declaration.refusals.constructors import HeldToForm

CONNECTION_FIELDS = ("host", "login", "password", "port", "schema")
_SHOWN_FIELDS = frozenset(CONNECTION_FIELDS) - {"password"}
"""Airflow shows them, too. They are often ordinary words, such as `app`, which paths and messages contain."""


@dataclass(frozen=True, slots=True)
class Secret(metaclass=HeldToForm):
    """A field of an Airflow connection: `password`, `login`, `host`, `port`, `schema`, or a key of its extra."""

    conn_id: str
    field: str = "password"

    @property
    def variable(self) -> str:
        """Return the name of its environment variable, which task and driver both compute."""
        digest = hashlib.sha256(f"{self.conn_id}\0{self.field}".encode()).hexdigest()
        return f"{VARIABLE_PREFIX}{digest[:16].upper()}"

    @property
    def is_masked(self) -> bool:
        """Whether its value is masked in logs and messages: a password, or a key of the extra."""
        return self.field not in _SHOWN_FIELDS

    def __str__(self) -> str:
        """Return its connection and field, for messages."""
        return f"Secret({self.conn_id}.{self.field})"


VARIABLE_PREFIX = "GRAPH_COMPILER_SECRET_"
SecretText: TypeAlias = str | Secret
"""Text, or a secret in its place."""
_MASK = "***"
_SHORTEST_WITHIN_WORDS = 5
"""As many characters as Airflow's masker needs by default."""


def without_values(text: str, values: Iterable[str]) -> str:
    """Return a text without the values of secrets, also as they are written in URLs.

    A short value is removed only where no letter or digit is beside it: otherwise what is missing in a word would tell
    it.
    """
    forms = {form for value in values if value for form in (value, quote(value, safe=""))}
    for form in sorted(forms, key=len, reverse=True):
        if len(form) < _SHORTEST_WITHIN_WORDS:
            text = re.sub(rf"(?<![^\W_]){re.escape(form)}(?![^\W_])", _MASK, text)
        else:
            text = text.replace(form, _MASK)
    return text
