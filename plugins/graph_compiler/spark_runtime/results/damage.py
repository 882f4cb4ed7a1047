"""Determine whether a damaged staged file caused a failure.

    ChecksumException, or a file that Parquet's reader cannot decode    damaged
    any other failure while a staged file was read                      damaged if the file differs from its checksums

A file that Spark could not read for another reason (a disk that did not respond) stays for the next attempt.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from graph_compiler.deployment.documents.manifest import DataFile, Manifest
from graph_compiler.spark_runtime.failures.causes import Cause
from graph_compiler.staging.results.damage import DamagedResult
from graph_compiler.staging.store.staging_store import StagingStore

_NAME = re.compile(r"part-\d+-[\w-]+[\w.-]*?\.parquet\b")
_CHECKSUM = "org.apache.hadoop.fs.ChecksumException"
_UNREADABLE = re.compile(r"org\.apache\.parquet\.|is not a Parquet file|CANNOT_READ_FILE_FOOTER")


def find_damaged_file(
    store: StagingStore, cause: Cause, read: Iterable[Manifest], execution_id: str
) -> DamagedResult | None:
    """Return the damaged file that caused a failure, among those of the manifests that were read; None if none did."""
    names = {name for link in cause.chain for name in _NAME.findall(link)}
    for manifest in read if names else ():
        for file in manifest.files:
            if file.name in names and (reason := _why(store, cause, manifest, file)):
                return DamagedResult(
                    result_id=manifest.result_id,
                    epoch=manifest.epoch,
                    file=file.name,
                    reason=reason,
                    execution_id=execution_id,
                    time=time.time(),
                )
    return None


def _why(store: StagingStore, cause: Cause, manifest: Manifest, file: DataFile) -> str | None:
    key = f"{manifest.location}/{file.name}"
    for link in cause.chain:
        kind, _, message = link.partition(": ")
        if kind == _CHECKSUM and file.name in message:
            return f"its bytes do not match their checksums{_place(message)}"
    if not store.is_there(key):
        return "it is missing"
    if store.digest(key) is not None:
        return store.why_damaged(key)
    unreadable = next((link for link in cause.chain if _UNREADABLE.search(link)), None)
    return None if unreadable is None else unreadable.splitlines()[0][:200]


def _place(message: str) -> str:
    found = re.search(r" at (\d+) exp: ", message)
    return f", from byte {found[1]} on" if found else ""
