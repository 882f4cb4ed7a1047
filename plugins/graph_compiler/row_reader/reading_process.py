"""The process that reads rows: `RowsWanted` on its standard input, `Answer` on its standard output.

It is started with the descriptors of files that the server has opened and checked. If a file makes pyarrow crash or
run out of memory, this process fails, not the server.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from graph_compiler.deployment.documents.wire import from_json, to_wire
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.row_reader.messages import (
    MOST_MEMORY,
    RowsAnswer,
    RowsRead,
    RowsRefused,
    RowsWanted,
    WhyRefused,
    limit_what_it_takes,
    open_nothing_more,
)

_MOST_WORDS = 500
"""Maximum characters of an error's message, which may contain text from a file."""


def main() -> None:
    """Answer one request."""
    limit_what_it_takes()
    answer = json.dumps(to_wire(_answer()), ensure_ascii=False).encode(errors="replace")
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
    os._exit(0)  # no destructors must run on the state that a damaged file has left


def _answer() -> RowsAnswer:
    try:
        import pyarrow  # noqa: F401  # after the limits are set; pyarrow may not be installed
    except ImportError:
        return RowsRefused(why=WhyRefused.NO_PYARROW, message="there is no pyarrow")
    from graph_compiler.row_reader.pages import UNREADABLE

    try:
        wanted = from_json(RowsWanted, sys.stdin.buffer.read())
        open_nothing_more()
        return rows_in(wanted)
    except PartitionNotFoundError as error:
        return _refused(WhyRefused.NOT_AS_COMMITTED, str(error))
    except MemoryError:
        words = f"reading them takes more than {MOST_MEMORY >> 20:,} MB of memory"
        return _refused(WhyRefused.UNREADABLE, words)
    except UNREADABLE as error:
        return _refused(WhyRefused.UNREADABLE, str(error))


def rows_in(wanted: RowsWanted) -> RowsRead:
    """Read the requested rows; raises PartitionNotFoundError, and the errors in `pages.UNREADABLE`."""
    # Imported after the limits are set, and only if pyarrow is installed.
    from graph_compiler.row_reader.pages import read_rows

    shown, rows = read_rows(_files(wanted), json.loads(wanted.fields), wanted.most)
    return RowsRead(shown=shown, rows=rows)


def _files(wanted: RowsWanted) -> Iterator[BinaryIO]:
    for descriptor in wanted.descriptors:
        yield open(descriptor, "rb")  # noqa: SIM115  # the reader closes it
    if wanted.gone is not None:
        raise PartitionNotFoundError(wanted.gone)


def _refused(why: WhyRefused, words: str) -> RowsRefused:
    return RowsRefused(why=why, message=words[:_MOST_WORDS])
