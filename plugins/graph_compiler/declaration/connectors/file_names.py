"""What the name of a file tells readers: its format, and how it is compressed.

report.csv, log.jsonl.gz    names of files, which Spark's writers make folders of
report.csv.gz               Spark's readers, and others, decompress what is behind this name
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from graph_compiler.declaration.connectors.secret import SecretText

_OF_RECORDS = (".csv", ".json", ".jsonl", ".ndjson", ".tsv", ".txt", ".xml")
_OF_CODECS = {
    "none": "",
    "uncompressed": "",
    "bzip2": ".bz2",
    "deflate": ".deflate",
    "gzip": ".gz",
    "lz4": ".lz4",
    "snappy": ".snappy",
    "zstd": ".zst",
}
"""What Hadoop's codecs add to the name of a file, by Spark's names for them."""
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def file_name(path: str) -> str:
    """Return the last name of a path; a template in it may be anything, and is not looked at."""
    return _TEMPLATE.sub("", path).rstrip("/").rpartition("/")[2]


def is_name_of_a_file(path: str) -> bool:
    """Whether the last name of a path ends like that of a file with records: `report.csv`, `log.jsonl.gz`."""
    name = file_name(path).lower()
    return name.removesuffix(compression_of(path)).endswith(_OF_RECORDS)


def compression_of(path: str) -> str:
    """Return the ending of a path by which readers decompress it, `.gz`; empty if it has none."""
    name = file_name(path).lower()
    return next((ending for ending in _OF_CODECS.values() if ending and name.endswith(ending)), "")


def compression_by(options: Mapping[str, SecretText]) -> str | None:
    """Return the ending that a writer with these options adds; None if its codec is not one of Spark's names."""
    chosen = {name.lower(): str(value).lower() for name, value in options.items()}
    return _OF_CODECS.get(chosen.get("compression", chosen.get("codec", "none")))


def why_read_otherwise(path: str, ending: str) -> str | None:
    """Return why readers would not find the rows behind a name, by the ending of their compression; None if they do."""
    found = compression_of(path)
    if found == ending.lower() or (not found and ending and file_name(path).lower().endswith(ending.lower())):
        return None
    written = f"compressed ({ending})" if ending else "not compressed"
    expected = f"compressed ({found})" if found else "not compressed"
    return f"its rows are {written}, and readers expect a file that is {expected} by the name '{file_name(path)}'"
