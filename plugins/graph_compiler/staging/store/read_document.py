"""Documents of the staging root as values: absent, readable, damaged, or of another version of this program.

    absent                                               None
    empty, torn, not JSON, another type, out of range    DamagedDocumentError: it is not readable any more
    another version, or fields that we do not know       OtherVersionError: another installation can read it
    a kind of a package that is not installed            PackageNotInstalledError, which is one
    denied, I/O error                                    OSError: nothing is known

A damaged document may be given up, by the rules of its kind. One of another version never is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NoReturn, TypeVar

from graph_compiler.deployment.documents.wire import Json, from_wire
from graph_compiler.errors import (
    DamagedDocumentError,
    DescriptorError,
    ExtensionError,
    OtherVersionError,
    PackageNotInstalledError,
)
from graph_compiler.staging.store.staging_store import MOST_BYTES, StagingStore

Document = TypeVar("Document")


Upgrade = Callable[[dict[str, Json]], dict[str, Json]]
"""A function that returns a document of an earlier version as one of this version."""


def _unchanged(document: dict[str, Json]) -> dict[str, Json]:
    return document


def get_document(
    store: StagingStore,
    key: str,
    kind: type[Document],
    *,
    version: int | None = None,
    upgrade: Upgrade = _unchanged,
    most: int = MOST_BYTES,
) -> Document | None:
    """Return the document under a key of a store, None if there is none; raises according to the table above."""
    content = store.get(key, most=most)
    return None if content is None else decode(kind, content, key, version=version, upgrade=upgrade)


def decode(
    kind: type[Document], content: bytes, where: str, *, version: int | None = None, upgrade: Upgrade = _unchanged
) -> Document:
    """Return the value of a document's content; raises DamagedDocumentError and OtherVersionError."""
    document = upgrade(decode_object(content, where))
    found = document.get("version")
    if version is not None and isinstance(found, int) and found != version:
        raise OtherVersionError(where, f"it has version {found}, and this program reads version {version}")
    try:
        return from_wire(kind, document)
    except RecursionError:
        raise DamagedDocumentError(where, "is nested too deeply") from None
    except ExtensionError as error:
        raise PackageNotInstalledError(where, str(error)) from None
    except DescriptorError as error:
        # A document of our version has a known form. One of another version, or of none, is another installation's
        # if it has a `type`.
        is_ours = version is not None and found == version
        if not is_ours and isinstance(document.get("type"), str):
            raise OtherVersionError(where, str(error)) from None
        raise DamagedDocumentError(where, f"has another form: {error}") from None


def decode_object(content: bytes, where: str) -> dict[str, Json]:
    """Return the JSON object that a document is; raises DamagedDocumentError."""
    if not content.strip():
        raise DamagedDocumentError(where, "is empty")
    try:
        document = json.loads(content)
    except RecursionError:
        raise DamagedDocumentError(where, "is nested too deeply") from None
    except ValueError as error:  # UnicodeDecodeError, JSONDecodeError, a number of thousands of digits
        raise DamagedDocumentError(where, f"is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        _not_an_object(document, where)
    return document


def _not_an_object(document: Json, where: str) -> NoReturn:
    raise DamagedDocumentError(where, f"holds {document!r:.80}, not a JSON object")
