"""What a source reads and a sink writes, as a URI that is the same in every run: its place without what templates fill.

    {{ params.output }}/delays/day={{ ds }}   →   file:///data/out/delays       params by their defaults
    jdbc:postgresql://db:5432/shop, sales.orders   →   postgresql://db:5432/shop/sales/orders
    a table of Spark's catalog, shop.orders   →   x-spark-table:///shop/orders

Users, passwords and options of a connection are no part of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import singledispatch
from urllib.parse import quote

from graph_compiler.declaration.connectors import Connector, FileConnector, Jdbc, Table
from graph_compiler.declaration.parameters.parameter import ParameterValue

_PARAMETER = re.compile(r"""\{\{\s*params(?:\.(\w+)|\[['"](\w+)['"]\])\s*\}\}""")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_MARK = "\0"
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:/")
_JDBC = re.compile(r"jdbc:(?P<database>\w+)://(?:[^/@]*@)?(?P<place>[^?;]*)")
_DEFAULT_SCHEMA = {"postgresql": "public"}


def asset_uri(connector: Connector, defaults: Mapping[str, ParameterValue]) -> str | None:
    """Give the URI; None for what no other pipeline can meet (rows of the declaration's own, a query)."""
    return _uri(connector, defaults)


def parameters_in(connector: Connector) -> frozenset[str]:
    """Give the parameters its place depends on."""
    found = _PARAMETER.findall(" ".join(connector.texts().values()))
    return frozenset(name or other for name, other in found)


def place_uri(place: str) -> str:
    """Give the URI of a path or URI as people write it: `/data/x` is `file:///data/x`, `s3a:` is `s3:`."""
    if _SCHEME.match(place):
        scheme, _, rest = place.partition(":")
        scheme = {"s3a": "s3", "s3n": "s3"}.get(scheme.lower(), scheme.lower())
        if scheme != "file":
            return f"{scheme}:{rest[:2]}{_one_slash(rest[2:]).rstrip('/')}"
        place = "/" + rest.lstrip("/")
    if not place.startswith("/"):
        return place.rstrip(
            "/"
        )  # Airflow takes it for a name, which is what a path from somewhere is
    return f"file://{quote(_one_slash(place).rstrip('/') or '/', safe='/=*,+@:')}"


def _one_slash(path: str) -> str:
    """Write a path as Hadoop reads it: a parameter that ends with a slash names the same folder."""
    return re.sub("//+", "/", path)


@singledispatch
def _uri(connector: Connector, defaults: Mapping[str, ParameterValue]) -> str | None:  # noqa: ARG001  # most have none
    return None


@_uri.register
def _of_files(connector: FileConnector, defaults: Mapping[str, ParameterValue]) -> str | None:
    return place_uri(place) if (place := _lasting(connector.path, defaults)) else None


@_uri.register
def _of_table(connector: Table, defaults: Mapping[str, ParameterValue]) -> str | None:
    name = _lasting(connector.name.replace(".", "/"), defaults)
    return f"x-spark-table:///{quote(name)}" if name else None


@_uri.register
def _of_database(connector: Jdbc, defaults: Mapping[str, ParameterValue]) -> str | None:
    if connector.table is None or not isinstance(connector.url, str):
        return None
    table, url = _lasting(connector.table, defaults), _filled(connector.url, defaults)
    found = _JDBC.match(url)
    if not table or found is None or _MARK in found["place"] or "/" not in found["place"]:
        return None
    names = table.replace('"', "").replace("`", "").split(".")
    if len(names) == 1 and (schema := _DEFAULT_SCHEMA.get(found["database"])):
        names = [schema, *names]
    return f"{found['database']}://{found['place'].rstrip('/')}/{quote('/'.join(names))}"


def _lasting(text: str, defaults: Mapping[str, ParameterValue]) -> str:
    """Leave out the parts between slashes that a template other than a parameter fills."""
    first, *rest = _filled(text, defaults).split("/")
    kept = [part for part in rest if _MARK not in part]
    is_elsewhere = first.endswith(":") and rest[:1] == [""] and _MARK in "".join(rest[1:2])
    return "" if is_elsewhere or _MARK in first else "/".join([first, *kept])


def _filled(text: str, defaults: Mapping[str, ParameterValue]) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return str(defaults[name]) if name in defaults else _MARK

    return _TEMPLATE.sub(_MARK, _PARAMETER.sub(value, text))
