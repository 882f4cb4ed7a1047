"""The staging root in an object store: test what commits and cleanup rely on, from Airflow's side."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass

from graph_compiler.cli.diagnosis.check import Answer, Check, Finding, State, carry_out_checks, failed, ok, warning
from graph_compiler.errors import StagingError
from graph_compiler.staging.store.root_probe import why_unlisted, why_unsafe
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of

_SKEW = 5.0
_ACCESS = (
    "check staging_conn_id, or the identity of this process, which must be allowed to get, put, list and delete "
    "objects below the root"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRoot:
    """A staging root in a bucket, and a place in it for tests."""

    root: str
    store: StagingStore
    scratch: str


def reachable(root: str) -> Finding:
    """Check that the store answers, and lets this process list objects."""
    try:
        store_of(root).keys(root)
    except (OSError, StagingError) as error:
        return failed(_words(error), _ACCESS)
    return ok(root)


def commits_to_store(root: ObjectRoot) -> Finding:
    """Check what decides between two writers: that an object can be created only once."""
    try:
        wrong = why_unsafe(root.store, root.scratch)
    except OSError as error:
        return failed(_words(error), _ACCESS)
    if wrong is not None:
        return failed(wrong.splitlines()[0], "choose a store that honors If-None-Match: docs/stores.md")
    return ok("of two writers, only one can create an object")


def lists(root: ObjectRoot) -> Finding:
    """Check that what was written is listed, and can be deleted."""
    try:
        wrong = why_unlisted(root.store, root.scratch)
    except OSError as error:
        return failed(_words(error), _ACCESS)
    if wrong is not None:
        return failed(wrong, f"choose another store, or {_ACCESS}")
    return ok("objects are listed once they are written, and can be deleted")


def clocks_of_store(root: ObjectRoot) -> Finding:
    """Compare the store's clock with ours: it decides which runs are silent, and which are old."""
    key, before = f"{root.scratch}/now", time.time()
    try:
        root.store.put_if_absent(key, b"1")
        written = root.store.written(key)
        root.store.delete(key)
    except OSError as error:
        return failed(_words(error), _ACCESS)
    skew = 0.0 if written is None else written - before
    if abs(skew) > _SKEW:
        return warning(f"its clock is {skew:+.0f} s from this machine's", "sudo timedatectl set-ntp true")
    return ok("the store's clock is this machine's")


FIRST_CHECK = Check("staging root", reachable)
STORE_CHECKS: tuple[Check[ObjectRoot], ...] = (
    Check("staging commits", commits_to_store),
    Check("staging lists", lists),
    Check("staging clock", clocks_of_store),
)


def judge_object_store(root: str) -> tuple[Answer, ...]:
    """Carry out the checks; if the store cannot be reached, only the first."""
    (first,) = carry_out_checks([FIRST_CHECK], root)
    if first.finding.state is State.FAILED:
        return (first,)
    scratch = f"{root}/.doctor-{uuid.uuid4().hex}"
    seen = ObjectRoot(root=root, store=store_of(root), scratch=scratch)
    try:
        return (first, *carry_out_checks(STORE_CHECKS, seen))
    finally:
        seen.store.delete(scratch)


def _words(error: Exception) -> str:
    return str(error.strerror if isinstance(error, OSError) else error)
