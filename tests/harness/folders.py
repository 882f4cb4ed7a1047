"""Folders that are about to be published, without Spark: files hold text, and intents name them."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.publications.files_on_disk import FilesOnDisk
from graph_compiler.staging.publications.publications import Intent
from graph_compiler.staging.store.local_store import LocalStore

SINK = OperatorId("ab" * 16)


def put(folder: Path, names: Iterable[str], content: str = "") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def failing(call: Callable[..., Any], nth: int, error: OSError) -> Callable[..., Any]:
    """Return a function that does the same, and fails at its n-th call, counted from 0."""
    numbers = count()

    def fails_once(*args: Any, **kwargs: Any) -> Any:
        if next(numbers) == nth:
            raise error
        return call(*args, **kwargs)

    return fails_once


def prepare(
    target: Path,
    *,
    add: Iterable[str],
    remove: Iterable[str] = (),
    replaces: Iterable[str] = (),
    execution_id: str = "e1",
    room: Path | None = None,
) -> Intent:
    """Put the new files where an execution prepares them; return its intent."""
    prepared = (room or target.parent / f".{target.name}.graph_compiler") / execution_id
    put(prepared / "ready", add)
    return Intent(
        number=0,
        identity=RunIdentity.own("p", "r"),
        plan_id="plan",
        operator_id=SINK,
        execution_id=execution_id,
        target=str(target),
        rows=0,
        bytes=0,
        prepared=str(prepared),
        columns=(),
        add=tuple(add),
        remove=tuple(remove),
        replaces=tuple(replaces),
        markers=(),
    )


def on_disk(intent: Intent) -> FilesOnDisk:
    return FilesOnDisk(intent, LocalStore())


def seen(folder: Path) -> frozenset[str]:
    """List what a reader finds; it lists a folder again if another has replaced it meanwhile."""
    while True:
        try:
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return frozenset()
        try:
            with os.scandir(opened) as entries:
                names = frozenset(entry.name for entry in entries if entry.name[0] not in "_.")
            if os.path.samestat(os.stat(folder), os.fstat(opened)):
                return names
        finally:
            os.close(opened)


@contextmanager
def in_memory(otherwise: Path) -> Iterator[Path]:
    """Yield a folder that is created and removed thousands of times, in memory if possible."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        dir=shared if shared.is_dir() else otherwise, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
    if Path(folder).exists():  # seen once: "Directory not empty", with no process left that writes
        shutil.rmtree(folder)
