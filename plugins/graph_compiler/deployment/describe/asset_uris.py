"""The place of a source or a sink as a URI that is the same in every run, without its templated parts.

    {{ params.output }}/delays/day={{ ds }}   →   file:///data/out/delays       params by their defaults
    jdbc:postgresql://db:5432/shop, sales.orders   →   postgresql://db:5432/shop/sales/orders
    a table of Spark's catalog, shop.orders   →   x-spark-table:///shop/orders

Users, passwords and connection options are not part of it. Each kind of connector decides which of its fields are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.connectors.asset_places import UNKNOWN
from graph_compiler.declaration.parameters.parameter import ParameterValue

PARAMETER = re.compile(r"""\{\{\s*params(?:\.(\w+)|\[['"](\w+)['"]\])\s*\}\}""")
"""A template that is a parameter, and nothing else."""
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def asset_uri(connector: Connector, defaults: Mapping[str, ParameterValue]) -> str | None:
    """Return the URI; None for a place that no other pipeline can use (rows in the declaration, a query)."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return str(defaults[name]) if name in defaults else UNKNOWN

    return connector.asset_uri(lambda text: _TEMPLATE.sub(UNKNOWN, PARAMETER.sub(value, text)))


def parameters_in(connector: Connector) -> frozenset[str]:
    """Return the parameters that a connector's place depends on."""
    found = PARAMETER.findall(" ".join(connector.texts().values()))
    return frozenset(name or other for name, other in found)
