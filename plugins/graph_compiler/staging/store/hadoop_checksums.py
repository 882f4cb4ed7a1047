r"""The checksum file that Hadoop's local file system writes beside each file: `.part-0.parquet.crc`.

    "crc\0"    size of a piece, 4 bytes   CRC-32 of each piece of the file, 4 bytes each; the last piece may be shorter

Hadoop compares every piece that is read through it. It compares nothing if the checksum file is missing or does not
begin as above. So a manifest holds the digest of the checksum file: 1/128 of the data protects all of it.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.store.bounded_read import open_regular

_MAGIC = b"crc\0"
_LEAST = 4096
"""Bytes that the checksum file of a small file may have; otherwise it is smaller than its file."""
_HEADER = struct.Struct(">4sI")


def checksum_file(path: Path) -> Path:
    """Return the path of a file's checksum file."""
    return path.with_name(f".{path.name}.crc")


def checksums_digest(path: Path) -> str | None:
    """Return the SHA-256 of a file's checksums, 64 hexadecimal digits; None if it has none."""
    try:
        opened = open_regular(str(checksum_file(path)), most=path.stat().st_size + _LEAST)
    except (DamagedDocumentError, FileNotFoundError):  # anything but a file proves nothing
        return None
    if opened is None:
        return None
    with open(opened, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def why_checksums_differ(path: Path, digest: str) -> str | None:
    """Return how a file's checksums differ from this digest; None if they do not. Reads no data."""
    found = checksums_digest(path)
    if found is None:
        return f"its checksum file {checksum_file(path).name} is missing"
    return None if found == digest else f"its checksum file {checksum_file(path).name} was changed"


def why_damaged(path: Path) -> str | None:
    """Return where a file differs from its checksums, None if it does not; reads all of it."""
    try:
        content = checksum_file(path).read_bytes()
    except FileNotFoundError:
        return f"its checksum file {checksum_file(path).name} is missing"
    magic, size = _HEADER.unpack_from(content) if len(content) >= _HEADER.size else (b"", 0)
    if magic != _MAGIC or not size:
        return f"its checksum file {checksum_file(path).name} is not one of Hadoop's"
    wanted = memoryview(content)[_HEADER.size :]
    found = b""
    for number, found in enumerate(_checksums(path, size)):
        if wanted[4 * number : 4 * number + 4] != found:
            return f"its bytes from {number * size} on were changed"
    count = -(-path.stat().st_size // size)
    return None if len(wanted) == 4 * count else "its length was changed"


def _checksums(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb", buffering=max(size, 1 << 20)) as file:
        while piece := file.read(size):
            yield zlib.crc32(piece).to_bytes(4, "big")
