"""Keys that other tools use for what a key means here: `input: orders` for `from: orders`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from graph_compiler.declaration.refusals.foreign_names import without_style

_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "alias": ("as",),
    "by": ("key_by", "partition_by", "order_by"),
    "columns": ("schema", "select"),
    "condition": ("filter",),
    "dbtable": ("table",),
    "fields": ("schema", "select"),
    "group": ("key_by",),
    "group_by": ("key_by",),
    "groups": ("key_by",),
    "id": ("name", "uid"),
    "input": ("from",),
    "inputs": ("from",),
    "join_type": ("how",),
    "key": ("keys", "key_by"),
    "label": ("name", "as"),
    "null_values": ("null_value",),
    "order": ("order_by", "sort"),
    "order_by": ("order_by", "sort"),
    "primary_key": ("keys",),
    "reads": ("from",),
    "source": ("from",),
    "sources": ("from",),
    "target": ("sink_to",),
    "title": ("name",),
    "to": ("sink_to",),
    "type": ("how",),
    "unique_key": ("keys",),
    "upsert": ("mode",),
    "using": ("on",),
    "where": ("filter", "condition"),
    "write": ("sink_to",),
    "write_mode": ("mode",),
}
"""Our keys for each synonym: the first that the mapping may have is meant."""
_VALUES: Mapping[str, str] = {"upsert": "mode: merge, with keys: it replaces the rows of equal keys"}
"""Synonyms that need a value, too."""
_OF_CSV: Mapping[str, str] = {
    "delimiter": "sep",
    "sep": "sep",
    "separator": "sep",
    "quote": "quote",
    "escape": "escape",
    "encoding": "encoding",
    "charset": "encoding",
    "multi_line": "multiLine",
    "date_format": "dateFormat",
    "timestamp_format": "timestampFormat",
    "compression": "compression",
}
"""Options of Spark's files, which are in `options`."""
_SPARKS = {without_style(name): option for name, option in _OF_CSV.items()}
_OURS = {without_style(name): (name, keys) for name, keys in _SYNONYMS.items()}


def key_meant(key: str, known: Collection[str], value: object = None) -> str | None:
    """Return a hint with the key that a synonym stands for among the known ones, None if there is none."""
    option = _SPARKS.get(without_style(key))
    if option is not None and "header" in known:
        return f"it is an option of Spark: options: {{{option}: {_shown(value)}}}"
    name, ours = _OURS.get(without_style(key), ("", ()))
    found = next((one for one in ours if one in known), None)
    return None if found is None else _VALUES.get(name, f"did you mean '{found}'?")


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) and '"' not in value else "…"
