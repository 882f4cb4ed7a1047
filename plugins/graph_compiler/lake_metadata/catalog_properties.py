"""The properties of a catalog, by Iceberg's names in Java, as pyiceberg has them.

    {"type": "jdbc", "uri": "jdbc:postgresql://db/lake", "jdbc.user": "etl", "jdbc.password": "…"}
    →  {"type": "sql", "uri": "postgresql+psycopg2://etl:…@db/lake?connect_timeout=5", "init_catalog_tables": "false"}

Nothing is ever created or altered. What pyiceberg has no counterpart of is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from graph_compiler.declaration.connectors.iceberg import CATALOG_SETTINGS
from graph_compiler.identifiers import listing
from graph_compiler.lake_metadata.table_state import NotAskedError

_POSTGRES = re.compile(r"jdbc:postgresql://(?P<host>[^/?,@]+)/(?P<database>[^?]*)(?:\?(?P<query>.*))?")
_SAME_NAME = frozenset({"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword"})
"""Parameters that PostgreSQL's drivers for Java and for C both have."""
_USER, _PASSWORD, _SCHEMA = "user", "password", "currentSchema"
_CONNECT_SECONDS = "5"
_KINDS = {
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
}
_OF_FILES = ("s3.", "gcs.", "adls.", "client.")
"""Properties with which both read files."""
_OF_REST = ("uri", "warehouse", "prefix", "credential", "token", "scope", "oauth2-server-uri")


def catalog_kind(properties: Mapping[str, str]) -> str:
    """Return `jdbc`, `rest` or `hadoop`; raises NotAskedError for another one."""
    if not properties:
        raise NotAskedError("the properties of its catalog are not known here: they are in Spark's own settings")
    found = properties.get("type") or _KINDS.get(properties.get("catalog-impl", ""))
    if found is None or found not in _KINDS.values():
        named = properties.get("type") or properties.get("catalog-impl")
        words = f"of type {named}" if named else "without a type"
        raise NotAskedError(f"its catalog is {words}; only {listing(_KINDS.values())} are asked")
    return found


def properties_in_settings(settings: Mapping[str, str], catalog: str) -> dict[str, str]:
    """Return the properties of a catalog that are in Spark's settings: `spark.sql.catalog.lake.uri`."""
    own = f"{CATALOG_SETTINGS}{catalog}."
    return {key.removeprefix(own): value for key, value in settings.items() if key.startswith(own)}


def pyiceberg_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return pyiceberg's properties of a catalog of kind `jdbc` or `rest`; raises NotAskedError."""
    files = {key: value for key, value in properties.items() if key.startswith(_OF_FILES)}
    if catalog_kind(properties) == "rest":
        same = {key: value for key, value in properties.items() if key in _OF_REST or key.startswith("header.")}
        return {**files, **same, "type": "rest"}
    return {
        **files,
        "type": "sql",
        "uri": _sqlalchemy_url(properties),
        # pyiceberg creates or alters the catalog's own tables otherwise
        "init_catalog_tables": "false",
        "schema_version": "v0",
    }


def _sqlalchemy_url(properties: Mapping[str, str]) -> str:
    """Return the address of a catalog's database; messages never have it, since it may be a secret."""
    found = _POSTGRES.fullmatch(properties.get("uri", "").strip())
    if found is None:
        raise NotAskedError(
            "its catalog's uri is of another form; only jdbc:postgresql://host:port/database is asked, of one host"
        )
    given = dict(parse_qsl(found["query"] or "", keep_blank_values=True))
    given |= {key.removeprefix("jdbc."): value for key, value in properties.items() if key.startswith("jdbc.")}
    given.pop("schema-version", None)  # the catalog's own, not the connection's
    user, password, schema = (given.pop(name, None) for name in (_USER, _PASSWORD, _SCHEMA))
    if unknown := sorted(key for key in given if key not in _SAME_NAME and not _is_of_catalog(key)):
        raise NotAskedError(f"its catalog's connection has {listing(unknown)}, which is not passed on here")
    query = {key: value for key, value in given.items() if key in _SAME_NAME}
    query["connect_timeout"] = _CONNECT_SECONDS
    if schema is not None:
        query["options"] = f"-csearch_path={schema}"
    login = "" if user is None else quote(user, safe="")
    login += "" if password is None else f":{quote(password, safe='')}"
    place = f"{found['host']}/{found['database']}"
    return f"postgresql+psycopg2://{f'{login}@' if login else ''}{place}?{urlencode(query)}"


def _is_of_catalog(key: str) -> bool:
    """Whether a property `jdbc.…` is Iceberg's own: it does not go to the connection."""
    return key in ("init-catalog-tables", "strict-mode") or key.startswith("retryable_")
