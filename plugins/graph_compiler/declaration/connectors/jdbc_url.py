"""The url of a database: its kind, and which urls name the same database."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from graph_compiler.declaration.connectors.file_uris import UNKNOWN

_URL = re.compile(r"jdbc:(?P<kind>\w+):")
_AUTHORITY = re.compile(r"jdbc:\w+://(?:[^/@]*@)?(?P<hosts>[^/?;]*)(?P<rest>[^?;]*)", re.IGNORECASE)
_DEFAULT_PORTS = {"postgresql": "5432", "mysql": "3306", "mariadb": "3306"}
"""Databases whose urls name the database in the path; what follows `?` are connection parameters."""
_PLACE = re.compile(r"jdbc:(?P<kind>\w+)://(?:[^/@]*@)?(?P<place>[^?;]*)")
_DEFAULT_SCHEMA = {"postgresql": "public"}


def database_kind(url: str) -> str:
    """Return the kind of database a url names (`postgresql`), empty if it names none."""
    found = _URL.match(url.strip().lower())
    return found["kind"] if found else ""


def same_database(url: str) -> str:
    """Return a normalized url: hosts in lower case and with their port, without user and parameters.

    Aliases of a host count as different hosts; so do databases that are named by a parameter of the url.
    """
    kind, found = database_kind(url), _AUTHORITY.match(url.strip())
    if found is None or kind not in _DEFAULT_PORTS:
        return url.strip()
    hosts = [_with_port(host, _DEFAULT_PORTS[kind]) for host in found["hosts"].lower().split(",")]
    return f"jdbc:{kind}://{','.join(hosts)}{found['rest'].rstrip('/')}"


def table_uri(url: str, table: str) -> str | None:
    """Return the URI of a table, None if the url does not name its database, or only does so in a run."""
    found = _PLACE.match(url)
    if found is None or UNKNOWN in found["place"] or "/" not in found["place"]:
        return None
    names = table.replace('"', "").replace("`", "").split(".")
    if len(names) == 1 and (schema := _DEFAULT_SCHEMA.get(found["kind"])):
        names = [schema, *names]
    return f"{found['kind']}://{found['place'].rstrip('/')}/{quote('/'.join(names))}"


def _with_port(host: str, port: str) -> str:
    has_port = re.search(r":\d+$", host) and not host.endswith("]")
    return host if has_port else f"{host.removesuffix(':') or 'localhost'}:{port}"


# Passwords and other secrets in plain text: in urls of databases, in connection strings, and in statements of SQL.
#
#     jdbc:oracle:thin:scott/tiger@//db/x                  Oracle's login
#     jdbc:mysql://etl:…@db/x                              before the host, of any database
#     jdbc:sqlserver://db;password=…, …/x?sslpassword=…    a parameter
#     ALTER SESSION …; SET ROLE etl IDENTIFIED BY …        a statement
#
# What looks like a secret is refused, since a secret that is not found could be read by anyone who sees the task. A
# whole url, option or password can be a Secret instead.

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
    return any(pattern.search(text) for text in (url, unquote(url)) for pattern in (_PARAMETER, _USER_INFO, _LOGIN))


def is_in_query(query: str) -> bool:
    """Whether a query has a text with connection parameters that hold a secret, as for `dblink`."""
    return _IN_LITERAL.search(query) is not None


def is_in_statement(statement: str) -> bool:
    """Whether a statement sets a secret, or has one in a text."""
    return _IN_STATEMENT.search(statement) is not None or is_in_query(statement)
