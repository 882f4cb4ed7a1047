"""Damage to staged files: deleted, cut, changed in place, with and without Hadoop's checksums beside them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

_Damage = Callable[[Path, float], None]


def damage(how: str, where: float, manifest: Path, run: Path) -> None:
    """Damage the epoch that a manifest names; `where` says which byte, from 0 to 1."""
    if how.startswith("record"):
        _RECORDS[how](manifest, where)
        return
    try:
        location = Path(json.loads(manifest.read_text())["location"])
    except ValueError:  # its record is damaged already
        return
    assert location.is_relative_to(run)
    files = sorted(location.glob("*.parquet"))
    if how == "folder deleted":
        shutil.rmtree(location, ignore_errors=True)
    elif files:
        _FILES[how](files[0], where)


def _empty(path: Path, _: float) -> None:
    path.write_bytes(b"")


def _delete(path: Path, _: float) -> None:
    path.unlink()


def _cut(path: Path, where: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(where * len(content))])


def _flip(path: Path, where: float) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[min(int(where * len(content)), len(content) - 1)] ^= 0x01
        path.write_bytes(content)


def _flip_unnoticed(path: Path, where: float) -> None:
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    _flip(path, where)


_FILES: dict[str, _Damage] = {
    "file deleted": _delete,
    "file cut": _cut,
    "byte changed": _flip,
    "byte changed, no .crc": _flip_unnoticed,
}
_RECORDS: dict[str, _Damage] = {"record emptied": _empty, "record cut": _cut}
DAMAGES = (*_FILES, *_RECORDS, "folder deleted")
