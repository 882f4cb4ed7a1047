"""Import pyspark from its folder. It must be done before anything else imports pyspark.

spark-submit puts SPARK_HOME/python/lib/pyspark.zip on PYTHONPATH. Python keeps no compiled code of what is in an
archive, so every driver would compile 60 modules again: `import pyspark.sql` takes 0.5 CPU seconds instead of 0.1.
"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import get_importer
from zipimport import zipimporter

ARCHIVE = "pyspark.zip"


def import_unzipped(path: list[str] = sys.path) -> bool:
    """Import pyspark from the folder of the installation whose archive is the first that has it on `path`.

    Return whether that was done: not if pyspark is imported already, comes from a folder anyway, has no folder of the
    same version there, or this cannot be seen.
    """
    if "pyspark" in sys.modules:
        return False
    try:
        found = next((entry for entry in path if _has_pyspark(entry)), None)
        folder = None if found is None else _folder_of(Path(found))
    except OSError:  # a folder that this user may not enter: Python passes it over
        return False
    if folder is None:
        return False
    start = folder / "__init__.py"
    spec = spec_from_file_location("pyspark", start, submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["pyspark"] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["pyspark"]
        raise
    return True


def _has_pyspark(entry: str) -> bool:
    place = Path(entry)
    return place.name == ARCHIVE or (place / "pyspark" / "__init__.py").is_file()


def _folder_of(archive: Path) -> Path | None:
    """Return the folder of the same files: beside lib/ in a distribution; the package itself, installed with pip."""
    if archive.name != ARCHIVE:
        return None
    python = archive.parent.parent
    for folder in (python / "pyspark", python.parent):
        version = folder / "version.py"
        if version.is_file() and (folder / "sql" / "session.py").is_file():
            return folder if version.read_bytes() == _version(archive) else None
    return None


def _version(archive: Path) -> bytes | None:
    importer = get_importer(str(archive))
    if not isinstance(importer, zipimporter):
        return None
    try:
        return importer.get_data(f"{archive}/pyspark/version.py")
    except OSError:  # it has no such file
        return None
