"""One in-process run of a pipeline's day at a time, on this host: two would read each other's results."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import GraphCompilerError
from graph_compiler.staging.store.folder_access import make_private_folder


class RunningAlreadyError(GraphCompilerError):
    """The pipeline is already running in process for the same day: the two would read each other's results."""


@contextmanager
def alone(layout: StagingLayout, home: Path) -> Iterator[int]:
    """Lock a run, and yield the lock's descriptor; it lasts until every process that inherits it ends.

    Its marker is locked if that is on a disk, otherwise a file below Airflow's home. Raises RunningAlreadyError.
    """
    is_local = local_path(layout.marker) is not None
    file = Path(layout.marker) if is_local else _lock_file(layout, home)
    with file.open() as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunningAlreadyError(
                f"this pipeline is being run in process for the same day\n  found: {layout.run}\n"
                "  hint: wait for it to end, or use another --date"
            ) from None
        yield held.fileno()


def _lock_file(layout: StagingLayout, home: Path) -> Path:
    folder = home / "locks"
    make_private_folder(folder)
    file = folder / hashlib.sha256(layout.run.encode()).hexdigest()
    file.touch()
    return file
