"""What the first bytes of a file show about how it is written: its encoding, or its compression."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_COMPRESSED = ((b"\x1f\x8b", "gzip", ".gz"), (b"BZh", "bzip2", ".bz2"), (b"(\xb5/\xfd", "zstd", ".zst"))
_UNREADABLE = (
    (b"PK\x03\x04", "a zip archive or a workbook"),
    (b"\xfd7zXZ", "compressed with xz"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\xd0\xcf\x11\xe0", "a document of Office"),
)
"""How files begin that no reader of text can read, and no name makes readable."""
_TYPED = ((b"PAR1", "Parquet", "Parquet(path)"), (b"ORC", "ORC", "Orc(path)"), (b"Obj\x01", "Avro", "format='avro'"))
_WITH_HEADER = 31
"""zlib's number for the format of gzip."""
_BYTE_ORDER = {b"\xff\xfe": "UTF-16LE", b"\xfe\xff": "UTF-16BE"}

Option = tuple[str, str]
"""The name of a reader's option, and its value."""


def is_utf8(head: bytes, path: str) -> bool:
    """Whether the beginning of a file is text in UTF-8, without null characters."""
    text = _decompressed(head, path)
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as wrong:
        if wrong.end < len(text) or wrong.reason != "unexpected end of data":
            return False
    return b"\0" not in text


def encoding_hints(head: bytes, path: str, *, needs_line_end: bool = False) -> Iterator[tuple[str, Option | None]]:
    """Yield how a file that is not UTF-8 may be read: a hint, and the option with which it ends.

    `needs_line_end`: a reader of lines finds them in UTF-16 only if the order of bytes and the end of lines are known.
    """
    text = _decompressed(head, path)
    if (found := _other_kind(head, text, path)) is not None:
        yield found, None
        return
    order = _BYTE_ORDER.get(text[:2])
    with_end = ' lineSep "\\n", and' if needs_line_end else ""
    if order is not None:
        name = order if needs_line_end else "UTF-16"
        yield f"the file begins as UTF-16 does: declare{with_end} ", ("encoding", name)
    elif text[1:200:2].count(0) > len(text[:200]) // 4:
        yield (f"every second byte is zero, as in UTF-16: declare{with_end} ", ("encoding", "UTF-16LE"))
    elif any(0x80 <= byte <= 0x9F for byte in text):
        yield ("if it was written by an older program of Windows, declare ", ("encoding", "windows-1252"))
    else:
        yield "if it was written in Western European letters, declare ", ("encoding", "ISO-8859-1")


def _other_kind(head: bytes, text: bytes, path: str) -> str | None:
    """Return what a file is that is not text, and what to do; None if its first bytes do not show it."""
    for magic, name, suffix in _COMPRESSED:
        if head.startswith(magic) and not path.endswith(suffix):
            recognized = f"compressed with {name}, which Spark recognizes only by the name"
            return f"the file is {recognized}: it needs a name that ends in {suffix}"
    for magic, name in _UNREADABLE:
        if text.startswith(magic):
            return f"the file is {name}, which Spark cannot read: unpack it, or save it as CSV"
    for magic, name, connector in _TYPED:
        if text.startswith(magic) and not is_utf8(head, path):
            return f"the file is {name}: read it with {connector}"
    is_tar = text[257:262] == b"ustar"
    return "the file is a tar archive, which Spark cannot read: unpack it" if is_tar else None


def _decompressed(head: bytes, path: str) -> bytes:
    """Return the bytes as Spark reads them, as far as they are known: it decompresses by the name."""
    if not path.endswith(".gz"):
        return head
    try:
        return zlib.decompressobj(wbits=_WITH_HEADER).decompress(head)
    except zlib.error:
        return head
