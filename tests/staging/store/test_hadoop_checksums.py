"""A file is compared with the checksum file that Hadoop writes beside it: pieces of one size, a CRC-32 of each."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler.staging.store.local_store import LocalStore

PIECE = b"123456789"
CHECK = bytes.fromhex("cbf43926")
"""CRC-32 of PIECE, as its definition gives it."""
HEADER = b"crc\0" + len(PIECE).to_bytes(4, "big")
STORE = LocalStore()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file of three pieces, with its checksums."""
    (tmp_path / ".part-0.crc").write_bytes(HEADER + 3 * CHECK)
    file = tmp_path / "part-0"
    file.write_bytes(3 * PIECE)
    return file


def checksums(file: Path) -> Path:
    return file.parent / ".part-0.crc"


def flipped(file: Path) -> None:
    file.write_bytes(PIECE + b"12345678x" + PIECE)


def longer(file: Path) -> None:
    file.write_bytes(4 * PIECE)


def shorter(file: Path) -> None:
    file.write_bytes(2 * PIECE)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def without(file: Path) -> None:
    checksums(file).unlink()


def of_something_else(file: Path) -> None:
    checksums(file).write_bytes(b"PAR1" + bytes(16))


def of_pieces_without_bytes(file: Path) -> None:
    checksums(file).write_bytes(b"crc\0" + bytes(4) + 3 * CHECK)


def cut_short(file: Path) -> None:
    checksums(file).write_bytes(b"crc")


def test_a_file_as_it_was_written_is_not_damaged(file: Path) -> None:
    assert STORE.why_damaged(str(file)) is None


def test_the_last_piece_may_be_shorter(file: Path) -> None:
    file.write_bytes(2 * PIECE + b"a")
    checksums(file).write_bytes(HEADER + 2 * CHECK + bytes.fromhex("e8b7be43"))
    assert STORE.why_damaged(str(file)) is None


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (flipped, "its bytes from 9 on were changed"),
        (longer, "its bytes from 27 on were changed"),
        (shorter, "its length was changed"),
        (emptied, "its length was changed"),
        (without, "its checksum file .part-0.crc is missing"),
        (of_something_else, "its checksum file .part-0.crc is not one of Hadoop's"),
        (of_pieces_without_bytes, "its checksum file .part-0.crc is not one of Hadoop's"),
        (cut_short, "its checksum file .part-0.crc is not one of Hadoop's"),
    ],
)
def test_it_says_how_a_file_differs_from_its_checksums(file: Path, damage: Callable[[Path], None], why: str) -> None:
    damage(file)
    assert STORE.why_damaged(str(file)) == why


def test_the_digest_is_that_of_the_checksum_file_and_reads_no_data(file: Path) -> None:
    digest = STORE.digest(str(file))
    assert digest == hashlib.sha256(HEADER + 3 * CHECK).hexdigest()
    flipped(file)
    assert STORE.why_differs(str(file), digest) is None


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (of_something_else, "its checksum file .part-0.crc was changed"),
        (without, "its checksum file .part-0.crc is missing"),
    ],
)
def test_checksums_that_differ_from_the_digest_are_reported(
    file: Path, damage: Callable[[Path], None], why: str
) -> None:
    digest = STORE.digest(str(file))
    assert digest is not None
    damage(file)
    assert STORE.why_differs(str(file), digest) == why


def test_a_pipe_in_place_of_checksums_proves_nothing_and_does_not_block(file: Path) -> None:
    without(file)
    os.mkfifo(checksums(file))
    assert STORE.digest(str(file)) is None


def test_checksums_larger_than_the_file_prove_nothing(file: Path) -> None:
    checksums(file).write_bytes(HEADER + bytes(2 * 4096))
    assert STORE.digest(str(file)) is None
