"""A version of a pipeline as a PlanSummary: a module, a file, or a file in a git revision.

    flights                     the module pipelines/flights.py
    other/pipelines/flights.py  a file
    main~3:pipelines/flights.py the file in that revision, unpacked with everything beside it

Each is imported in a separate process, so that two versions of one module do not mix. All are compiled by this
compiler; if a version has an earlier one beside it, in `plugins/`, its sources are those that one read less strictly.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import graph_compiler
from graph_compiler.errors import GraphCompilerError
from graph_compiler.explain.plan.plan import PlanDocument, PlanSummary
from graph_compiler.projects.pipeline_files import PipelineFile, find_pipeline, pipeline_at

_PROGRAM = "graph_compiler.cli.arguments.summarize"
_COMPILER = Path(graph_compiler.__file__).resolve().parents[1]


class VersionNotFoundError(GraphCompilerError):
    """The revision does not exist, or does not contain the file."""


class VersionNotLoadableError(GraphCompilerError):
    """A version of a pipeline cannot be compiled; the message is the output of its process."""


def summary_of(version: str) -> PlanSummary:
    """Compile a version in a separate process.

    Raises VersionNotFoundError or InvalidPipelineError if it does not exist, VersionNotLoadableError if it fails.
    """
    revision, colon, path = version.partition(":")
    if not colon or Path(version).exists():
        return _summarize(version, find_pipeline(version), sys.path)
    with TemporaryDirectory(prefix="graph-compiler-diff-") as name:
        folder = Path(name).resolve()
        repository = Path(_git(Path.cwd(), "rev-parse", "--show-toplevel")).resolve()
        _unpack(revision, repository, folder)
        here = Path(os.path.relpath(Path.cwd().resolve() / path, repository))
        if path.startswith(("./", "../")):  # as git writes what is relative to this folder
            path = str(here)
        if ".." in Path(path).parts or not (folder / path).is_file():
            other = f"did you mean '{revision}:{here}'? " if (folder / here).is_file() else ""
            raise VersionNotFoundError(
                f"there is no file '{path}' in revision '{revision}'\n"
                f"  hint: {other}paths start at the top of the repository, or with ./ in this folder"
            )
        paths = _paths_in_revision(folder, repository)
        unpacked = (folder, repository)
        return _summarize(version, pipeline_at(folder / path), paths, unpacked)


def _summarize(
    version: str, module: PipelineFile, path: Sequence[str], unpacked: tuple[Path, Path] | None = None
) -> PlanSummary:
    """Summarize a version; `unpacked` are the folder of a revision, and the repository whose paths it has."""
    folder, repository = map(str, unpacked) if unpacked else (None, None)
    paths = [str(module.root), *(one for one in path if not _hides(module, one))]
    done = subprocess.run(
        [sys.executable, "-m", _PROGRAM, str(module.file)],
        input=json.dumps({"path": paths, "unpacked": folder, "repository": repository}),
        env=os.environ | {"PYTHONPATH": str(_COMPILER)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        words = done.stderr.strip().replace(f"{module.root}{os.sep}", "")
        raise VersionNotLoadableError(f"{version}: {words}")
    found = PlanDocument.of(json.loads(done.stdout)).summary()
    return replace(found, strict_sources=found.strict_sources and not _is_lenient(module.root))


def _is_lenient(root: Path) -> bool:
    """Whether a folder has a compiler of its own in `plugins/` that does not check every record: one before 0.2."""
    options = root / "plugins" / "graph_compiler" / "options" / "model.py"
    return options.is_file() and '"sources.strict"' not in options.read_text()


def _hides(module: PipelineFile, entry: str) -> bool:
    """Whether a folder of the import path hides the module: a package wins over a folder without __init__."""
    top, folder = module.name.partition(".")[0], Path(entry).resolve()
    ours = module.root / top
    is_package = not ours.is_dir() or (ours / "__init__.py").is_file()
    return not is_package and folder != module.root and (folder / top / "__init__.py").is_file()


def _paths_in_revision(folder: Path, repository: Path) -> list[str]:
    """Return the import path with the repository's folders replaced by the unpacked ones; the compiler stays."""
    found = []
    for entry in sys.path:
        here = Path(entry).resolve()
        if here != _COMPILER and here.is_relative_to(repository):
            then = folder / here.relative_to(repository)
            found.append(str(then) if then.is_dir() else entry)
        else:
            found.append(entry)
    return found


def _unpack(revision: str, repository: Path, folder: Path) -> None:
    """Write the files of a revision into a folder, without links that lead out of it."""
    commit = _git(repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    archive = folder / ".revision.tar"
    _git(repository, "archive", f"--output={archive}", commit)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter=_inside)
    archive.unlink()


def _inside(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    try:
        return tarfile.data_filter(member, folder)
    except tarfile.FilterError:
        return None


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise VersionNotFoundError("git is required to read a revision, but is not installed") from None
    if done.returncode:
        raise VersionNotFoundError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
