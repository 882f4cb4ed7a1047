"""Edit a copy of the package, and run the tests that must notice it; the working tree does not change.

Used by `tests.conformance.mutants` (each rule that follows Flink) and `tests.machine.mends` (each mended fault).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PACKAGE = ROOT / "plugins" / "graph_compiler"


@dataclass(frozen=True)
class Edit:
    """`old` occurs exactly once in `file`, which is relative to plugins/graph_compiler, and becomes `new`."""

    file: str
    old: str
    new: str

    def places(self, text: str) -> list[re.Match[str]]:
        """Find `old` in a text, however the formatter has broken its lines."""
        tokens = re.findall(r"\w+|[^\w\s]", self.old)
        return list(re.finditer(r"\s*".join(map(re.escape, tokens)), text))

    def apply(self, text: str) -> str:
        """Return the text with `new` in the place of `old`."""
        (place,) = self.places(text)
        return text[: place.start()] + self.new + text[place.end() :]


def misplaced(edits: Iterable[Edit]) -> list[str]:
    """Describe the edits whose `old` does not occur exactly once in its file."""
    wrong = []
    for edit in edits:
        path = _PACKAGE / edit.file
        count = len(edit.places(path.read_text())) if path.exists() else 0
        if count != 1:
            wrong.append(f"{edit.file} has {count} times {edit.old!r}")
    return wrong


def changed_files(edits: Iterable[Edit]) -> dict[str, str]:
    """Return the text of each file that edits change, as it is afterwards."""
    texts: dict[str, str] = {}
    for edit in edits:
        before = texts.get(edit.file) or (_PACKAGE / edit.file).read_text()
        texts[edit.file] = edit.apply(before)
    return texts


@contextmanager
def changed_package(edits: Iterable[Edit]) -> Iterator[Path]:
    """Copy the package, and change the copy; return the folder to import it from."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, _PACKAGE.name)
        shutil.copytree(
            _PACKAGE, copy
        )  # with what Python has compiled: only newer files are compiled again
        for file, text in changed_files(edits).items():
            (copy / file).write_text(text)
        yield Path(folder)


def run_python(
    package: Path, *arguments: str, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `python -m …` with the package from that folder; raises TimeoutExpired."""
    with subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except BaseException:  # it has not ended, or this process is told to
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output)


def run_pytest(
    package: Path, *arguments: str, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run pytest with the package from that folder; raises TimeoutExpired."""
    paths = ("-o", f"pythonpath={package} {ROOT}")
    return run_python(
        package, "pytest", "-q", "-p", "no:cacheprovider", *paths, *arguments, timeout=timeout
    )
