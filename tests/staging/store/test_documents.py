"""How documents are read that anyone may have put there."""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from graph_compiler import Parquet
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.errors import DamagedDocumentError, OtherVersionError
from graph_compiler.staging.store.bounded_read import folders_in, names_in, read_bytes
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.read_document import get_document

STORE = LocalStore()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A kind of document."""

    version: int
    text: str


def a_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as found:
            found.bind(path.name)
    finally:
        os.chdir(here)


def a_huge_file(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**40)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "is a FIFO"),
        (os.mkdir, "is a folder"),
        (a_socket, "is a socket"),
        (lambda path: path.symlink_to("/dev/zero"), "is a symbolic link"),
        (lambda path: path.symlink_to("nowhere"), "is a symbolic link"),
        (a_huge_file, "has 1,099,511,627,776 bytes, more than 64,000,000"),
    ],
)
def test_special_and_oversized_files_are_never_opened(tmp_path: Path, make: Callable[[Path], None], why: str) -> None:
    make(tmp_path / "note.json")
    with pytest.raises(DamagedDocumentError) as raised:
        STORE.get(str(tmp_path / "note.json"))
    assert str(raised.value) == f"{tmp_path}/note.json {why}"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b'{"type": "No', "is not valid JSON"),
        (b"\x00" * 40, "is not valid JSON"),
        (b"\xff\xfe{}", "is not valid JSON"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"version": 1, "text": ' + b"9" * 5_000 + b"}", "is not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"type": "Note", "version": 1, "text": 7}', "has another form"),
        (b'{"type": "Note", "version": 1}', "has another form"),
        (b'{"version": "one"}', "has another form"),
    ],
)
def test_unreadable_documents_are_damaged(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "note.json").write_bytes(content)
    with pytest.raises(DamagedDocumentError, match=why):
        get_document(LocalStore(), str(tmp_path / "note.json"), Note, version=1)


@pytest.mark.parametrize("document", [{"type": "Note", "version": 2, "body": ""}, {"type": "Note", "of": "tomorrow"}])
def test_documents_of_another_version_are_not_damaged(tmp_path: Path, document: dict[str, object]) -> None:
    (tmp_path / "note.json").write_text(json.dumps(document))
    with pytest.raises(OtherVersionError, match="use the version that wrote it"):
        get_document(LocalStore(), str(tmp_path / "note.json"), Note, version=1)


def test_documents_with_kinds_of_missing_packages_are_not_damaged(tmp_path: Path) -> None:
    document = to_wire(Parquet("/in"))
    assert isinstance(document, dict)
    (tmp_path / "in.json").write_text(json.dumps(document | {"type": "acme.connector:Lake"}))
    with pytest.raises(OtherVersionError) as refused:
        get_document(LocalStore(), str(tmp_path / "in.json"), Connector)
    assert str(refused.value) == (
        f"{tmp_path}/in.json cannot be read here: no package that is installed here registers "
        "'acme.connector:Lake' under graph_compiler.connectors\n"
        "  hint: install it on all workers and the API server, or put its folder and its .dist-info on "
        "PYTHONPATH"
    )


def test_missing_documents_are_not_damaged(tmp_path: Path) -> None:
    assert get_document(LocalStore(), str(tmp_path / "note.json"), Note, version=1) is None
    assert names_in(str(tmp_path / "nowhere")) == []


def test_an_unresponsive_root_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    # A name below a file stands for every error of a store: this may run as a user who is denied nothing.
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        STORE.get(str(tmp_path / "file" / "note.json"))
    with pytest.raises(NotADirectoryError):
        STORE.keys(str(tmp_path / "file"))


def test_the_listing_of_a_folder_is_bounded(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / str(number)).mkdir()
    assert folders_in(str(tmp_path), most=4) == ["0", "1", "2", "3"]
    with pytest.raises(DamagedDocumentError, match="more than 3 entries"):
        folders_in(str(tmp_path), most=3)


def test_reading_a_growing_file_ends(tmp_path: Path) -> None:
    (tmp_path / "note.json").write_bytes(b"12345")
    assert read_bytes(str(tmp_path / "note.json"), most=5) == b"12345"
    with pytest.raises(DamagedDocumentError, match="has 5 bytes, more than 4"):
        read_bytes(str(tmp_path / "note.json"), most=4)
