"""What a source reads more strictly than versions before 0.2 did, though its declaration is equal.

Those versions read records leniently, took the columns of one Parquet file, and left out files in folders below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.declaration.connectors.files import CHECKED, TABLE_FORMATS
from graph_compiler.explain.diff.plan_changes import FactChange
from graph_compiler.explain.diff.plan_summary import Facts

_FORMATS = {"Csv": "csv", "Json": "json", "Text": "text", "Parquet": "parquet", "Orc": "orc"}
_LENIENTLY = {
    "csv": "NULL, padded or cut",
    "json": "NULL",
    "text": "with letters replaced",
    "xml": "NULL",
}
"""How records that do not fit were read without a schema, by format."""


def stricter_fact(before: Facts, now: Facts) -> FactChange | None:
    """Return what changes for an operator when its records are checked; None if it is not a source of files.

    A source with `on_misfit` or `rejects` is declared for this version, so its author knows.
    """
    old, new = dict(before), dict(now)
    format = _format(new)
    if format is None or format != _format(old) or format in TABLE_FORMATS:
        return None
    if "connector.on_misfit" in new or "connector.rejects" in new:
        return None
    has_schema, options = "connector.schema" in new, dict(_options(new))
    if format in CHECKED or (format == "xml" and not has_schema):
        return FactChange(
            fact="records that do not fit",
            before=_before(format, old),
            now='fail the task, unless on_misfit="null" or sources.strict: false',
        )
    if format in ("parquet", "orc") and not has_schema and "mergeschema" not in options:
        return FactChange(
            fact="columns", before="of one file", now="of all files, unless sources.strict: false"
        )
    if options.get("recursivefilelookup") == "true":
        return None
    return FactChange(
        fact="files in folders below",
        before="left out",
        now="refuse the source, unless sources.strict: false",
    )


def _format(facts: Mapping[str, str]) -> str | None:
    """Return the format of a source's files in lower case; None for all other operators."""
    if facts.get("operator") != "Source":
        return None
    connector = facts.get("connector", "")
    if connector == "Files":
        return facts.get("connector.format", "").lower()
    return _FORMATS.get(connector)


def _before(format: str, facts: Mapping[str, str]) -> str:
    if "connector.schema" not in facts or format == "text":
        return _LENIENTLY[format]
    if facts.get("connector.on_schema_change") == "ignore":
        return "NULL"
    return "checked in the columns that are read"


def _options(facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a connector, in lower case: a plan has each as `name, value`."""
    for fact, text in facts.items():
        if fact.startswith("connector.options["):
            name, _, value = text.partition(", ")
            yield name.lower(), value.lower()
