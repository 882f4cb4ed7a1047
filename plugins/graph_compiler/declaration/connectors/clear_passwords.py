"""Passwords and other secrets in plain text: in urls of databases, in connection strings, and in statements of SQL.

    jdbc:oracle:thin:scott/tiger@//db/x                  Oracle's login
    jdbc:mysql://etl:…@db/x                              before the host, of any database
    jdbc:sqlserver://db;password=…, …/x?sslpassword=…    a parameter
    ALTER SESSION …; SET ROLE etl IDENTIFIED BY …        a statement

What looks like a secret is refused, since a secret that is not found could be read by anyone who sees the task. A whole
url, option or password can be a Secret instead.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

_NAME = (
    r"(?:pass(?:wor[dt]|wd|phrase|code)|pwd|secret|token|credential"
    r"|(?:access|api|private|pvt|account|shared|secret)[._-]?key)s?"
)
_PARAMETER = re.compile(rf"(?:^|[?&;,:()/#{{'\"\s])[\w.-]*{_NAME}\s*=", re.IGNORECASE)
_USER_INFO = re.compile(
    r"(?://|,)[^/@?#;,\[]*:"  # of //h1:5432,h2:5432/x, and of //[::1]:5432/x, it is a port
    r"(?:(?!\d+[/,?;])[^/@]*@|(?!\d+[/,?;]|\d+$|\{\{)[^@,]*@)"
)
_LOGIN = re.compile(r"jdbc:oracle:\w+:(?!@|//)[^@/]+/[^@]", re.IGNORECASE)
_IN_LITERAL = re.compile(rf"'(?:[^']*[\s;?&,:(])?[\w.-]*{_NAME}\s*=[^']*'", re.IGNORECASE)
_IN_STATEMENT = re.compile(
    r"\bidentified\s+by\b"
    rf"|[\w.]*{_NAME}\b['\"`\]]?\s*(?:(?:=|,|\bto\b|\bby\b|\bfor\s+\S+\s*=)\s*\S|['\"]\S)",
    re.IGNORECASE,
)


def is_in_url(url: str) -> bool:
    """Whether a url, or another text of connection parameters, holds a secret."""
    return any(
        pattern.search(text)
        for text in (url, unquote(url))
        for pattern in (_PARAMETER, _USER_INFO, _LOGIN)
    )


def is_in_query(query: str) -> bool:
    """Whether a query has a text with connection parameters that hold a secret, as for `dblink`."""
    return _IN_LITERAL.search(query) is not None


def is_in_statement(statement: str) -> bool:
    """Whether a statement sets a secret, or has one in a text."""
    return _IN_STATEMENT.search(statement) is not None or is_in_query(statement)
