"""The first rows of a staged result.

    this server                                     graph_compiler.row_reader, a separate process
    finds the manifest, opens and checks files ──▶  reads pages, with limits of memory and time
    answers, or returns the reason             ◀──  rows as text, or the reason why there are none

A crafted page of a few kilobytes may decompress to gigabytes, and a crafted file may crash the process that reads it.
So no page is read here, and pyarrow is not imported. The server opens the files and passes descriptors: only
`staged_files.py` decides what may be opened, and the other process gives up its right to open anything.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import graph_compiler
from graph_compiler.airflow_backend.web.bounded_process import BoundedProcess
from graph_compiler.airflow_backend.web.rows.staged_files import StagedFiles, fields_of, view_column
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.errors import DescriptorError, PartitionNotFoundError, UnreadableRowsError
from graph_compiler.explain.documents.view_answers import RowSample
from graph_compiler.identifiers import counted, listing
from graph_compiler.row_reader.messages import WALL_SECONDS, RowsAnswer, RowsRead, RowsRefused, RowsWanted, WhyRefused

UNREADABLE = (OSError, MemoryError, RecursionError, ValueError, LookupError, TypeError)
"""The errors of documents that are damaged, or not readable for this user."""
Reader: TypeAlias = Callable[[RowsWanted], RowsAnswer]
_MOST_COLUMNS = 200
_MOST_SAID = 3_000_000
"""The maximum bytes of an answer: a megabyte of rows, or one larger row."""
_NO_PYARROW = "the Python of this API server has no pyarrow: pip install 'pyarrow>=18'"
_START = "import sys; sys.path.append(sys.argv[1]); from graph_compiler.row_reader.reading_process import main; main()"
"""Airflow's plugins folder is only on this process's path. It comes last, so that its files hide no package."""
_ENVIRONMENT = {
    # One pool and one arena: more would reserve unused address space, which counts toward the limit.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "ARROW_IO_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def read_in_a_process(wanted: RowsWanted) -> RowsAnswer:
    """Return the answer of a separate process; raises UnreadableRowsError if there is none, or OSError."""
    folder = str(Path(graph_compiler.__file__).parents[1])
    process = BoundedProcess(
        command=(sys.executable, "-P", "-B", "-c", _START, folder),
        environment=_ENVIRONMENT,
        seconds=WALL_SECONDS,
        most=_MOST_SAID,
    )
    answer = process.answer_to(to_json(wanted).encode(), wanted.descriptors)
    try:
        return from_json(RowsAnswer, answer)
    except (DescriptorError, ValueError, RecursionError):
        raise _unreadable_answer() from None


def read_sample(found: StagedFiles, most: int, read: Reader = read_in_a_process) -> RowSample:
    """Return a limited number of rows; raises StagingError, and the errors in UNREADABLE."""
    manifest = found.manifest
    fields = fields_of(manifest)
    answer = _rows(found, json.dumps(fields[:_MOST_COLUMNS]), most, read)
    if not _fits(answer, min(len(fields), _MOST_COLUMNS), most):
        raise _unreadable_answer()
    shown = [fields[number] for number in answer.shown]
    names = [field["name"] for number, field in enumerate(fields[:_MOST_COLUMNS]) if number not in answer.shown]
    return RowSample(
        epoch=manifest.epoch,
        rows_in_result=manifest.rows,
        columns=tuple(view_column(field) for field in shown),
        rows=answer.rows,
        notes=tuple(_notes(len(fields), names, answer, min(most, manifest.rows))),
    )


def _rows(found: StagedFiles, fields: str, most: int, read: Reader) -> RowsRead:
    with found.opened_for(most) as (files, gone):
        descriptors = tuple(file.fileno() for file in files)
        if not descriptors and gone is not None:
            raise PartitionNotFoundError(gone)
        answer = read(RowsWanted(most=most, fields=fields, descriptors=descriptors, gone=gone))
    match answer:
        case RowsRead():
            return answer
        case RowsRefused(why=WhyRefused.NOT_AS_COMMITTED, message=message):
            raise PartitionNotFoundError(message)
        case RowsRefused(why=WhyRefused.NO_PYARROW):
            raise UnreadableRowsError(_NO_PYARROW)
        case RowsRefused(message=message):
            raise UnreadableRowsError(message)
        case _:
            raise _unreadable_answer()


def _fits(answer: RowsRead, columns: int, most: int) -> bool:
    """Whether an answer has the requested form: a crafted file may make the process print anything."""
    return (
        len(answer.rows) <= most
        and all(0 <= number < columns for number in answer.shown)
        and all(len(row) == len(answer.shown) for row in answer.rows)
    )


def _unreadable_answer() -> UnreadableRowsError:
    return UnreadableRowsError("the process that reads them returned an unreadable answer")


def _notes(columns: int, too_large: Sequence[str], answer: RowsRead, wanted: int) -> Iterator[str]:
    if too_large:
        yield f"Too large to be read here: {listing(too_large)}."
    if columns > _MOST_COLUMNS:
        yield f"The first {_MOST_COLUMNS} of {columns} columns."
    rows = len(answer.rows)
    if answer.shown and rows < wanted:
        yield f"{counted(rows, 'row')}, not {wanted}: what follows is too large to be shown here."
