"""The url of a database: its kind, and which urls name the same database."""

from __future__ import annotations

import re
from urllib.parse import quote

from graph_compiler.declaration.connectors.asset_places import UNKNOWN

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
