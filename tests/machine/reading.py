"""Read a folder of files without Spark: what Spark's readers would see, by rules that are repeated here."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyarrow import orc, parquet

from tests.machine.model import Row

_HIVE = "__HIVE_DEFAULT_PARTITION__"


def is_seen(name: str) -> bool:
    """Whether Spark's readers see a name: `HadoopFSUtils.shouldFilterOutPathName`."""
    if name.startswith("."):
        return False
    return not (name.startswith("_") and "=" not in name) and not name.endswith("._COPYING_")


def seen_files(target: Path) -> list[Path]:
    """List the files below a folder that Spark's readers see, behind links too."""
    found = []
    for folder, folders, files in os.walk(target, followlinks=True):
        folders[:] = [name for name in folders if is_seen(name)]
        found += [Path(folder, name) for name in files if is_seen(name)]
    return sorted(found)


def rows_in(target: Path, column: str, format: str) -> Counter[Row]:
    """Count the rows below a folder; `column` is in the files, or in the names of folders."""
    found: Counter[Row] = Counter()
    for path in seen_files(target):
        folders = dict(_folders(path.relative_to(target)))
        for values in _READERS[format](path):
            row = {name.lower(): value for name, value in (values | folders).items()}
            found[int(row["id"]), row.get(column.lower()), int(row["number"])] += 1
    return found


def _folders(path: Path) -> Iterator[tuple[str, str | None]]:
    for part in path.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals:
            yield unquote(name), None if value == _HIVE else unquote(value)


def _parquet(path: Path) -> list[dict[str, Any]]:
    return list(parquet.ParquetFile(path).read().to_pylist())


def _orc(path: Path) -> list[dict[str, Any]]:
    return list(orc.ORCFile(path).read().to_pylist())


def _csv(path: Path) -> list[dict[str, Any]]:
    with _opened(path) as file:
        return [
            {k: v or None for k, v in row.items()} for row in csv.DictReader(file, escapechar="\\", doublequote=False)
        ]


def _json(path: Path) -> list[dict[str, Any]]:
    with _opened(path) as file:
        return [json.loads(line) for line in file.read().split("\n") if line]


def _opened(path: Path) -> Any:
    opened = gzip.open if path.suffix == ".gz" else open
    return opened(path, "rt", encoding="utf-8", newline="")


_READERS = {"parquet": _parquet, "orc": _orc, "csv": _csv, "json": _json}
