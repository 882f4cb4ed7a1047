"""Messages for an input that does not exist, or that this Spark cannot read."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.spark_runtime.failures.causes import Cause

_NO_CLASS = re.compile(r"Class org\.apache\.hadoop\.fs\.(?P<scheme>[a-z0-9]+)\.\w+ not found")
_NO_SCHEME = re.compile(r'No FileSystem for scheme[: ]+"?(?P<scheme>\w+)')
_NO_FORMAT = "AVRO_DATA_SOURCE_NOT_ENABLED"
_PATTERN = frozenset("*?[{")
_MAY_BE_MISSING = (
    "if there may be no files, create the folder and declare schema=: an empty folder has no rows"
)
_MOST = 10_000
"""Maximum number of a folder's names to compare with the missing one."""


def missing_input(cause: Cause) -> list[str]:
    """Return the message lines for an input that is missing or unreachable; none for other causes."""
    if cause.condition == "PATH_NOT_FOUND":
        return does_not_exist(str(cause.parameters.get("path"))).split("\n  ")
    if cause.condition == _NO_FORMAT:
        return ["this Spark does not have the format avro", *_hint(format="avro")]
    texts = (cause.message, *cause.chain)
    for pattern in (_NO_CLASS, _NO_SCHEME):
        for text in texts:
            if found := pattern.search(text):
                return _no_file_system(found["scheme"])
    return []


def does_not_exist(path: str) -> str:
    """Return the message for a missing input, with a name similar to its first missing part.

    If no name is similar, and it may be a folder, the message says how a day without files is declared.
    """
    name = path.rpartition("/")[2]
    is_folder = not Path(name).suffix and not _PATTERN & set(name)
    hint = _similar(path) or (_MAY_BE_MISSING if is_folder else None)
    return f"its input {path} does not exist" + (f"\n  hint: {hint}" if hint else "")


def _similar(path: str) -> str | None:
    local = local_path(path)
    if local is None:
        return None
    missing = Path(local)
    while not missing.parent.is_dir() and missing != missing.parent:
        missing = missing.parent
    try:
        names = sorted(item.name for item in islice(missing.parent.iterdir(), _MOST))
    except OSError:
        return None
    # Extensions alone make names similar: one.csv, two.csv.
    by_stem = {Path(name).stem: name for name in names}
    close = get_close_matches(missing.stem, by_stem, n=1)
    return f"did you mean '{missing.parent / by_stem[close[0]]}'?" if close else None


def _no_file_system(scheme: str) -> list[str]:
    return [f"this Spark has no file system for {scheme}:", *_hint(scheme=scheme)]


def _hint(*, scheme: str = "", format: str = "") -> list[str]:
    from graph_compiler.driver_jvm import connector_packages as known  # most drivers need none

    jars = known.spark_jars()
    package = known.package_of_scheme(scheme, jars) or known.package_of_format(format, jars)
    return [f"hint: {known.add_package(package)}"]
