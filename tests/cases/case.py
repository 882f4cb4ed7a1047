"""A case: files as somebody has them, a source that reads them, and the rows or the message that must come of it.

If the message proposes something, the case follows it, as a reader of the message would, until there are rows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow
import pyarrow.parquet

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.connectors import FileConnector, RecordFiles

Content: TypeAlias = str | bytes | pyarrow.Table | None
Rows: TypeAlias = list[dict[str, Any]]


def unchanged(rows: DataStream) -> DataStream:
    return rows


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """What a message must contain, its hint among it, and what the hint changes.

    Changes of a hint such as `options={…}` are read from it.
    """

    words: tuple[str, ...]
    hint: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    then: Callable[[DataStream], DataStream] | None = None

    def followed(self, case: Case) -> Case:
        """Return the case as its author declares it after this message."""
        changes = dict(self.changes) or _keywords(self.hint)
        if "options" in changes:
            changes["options"] = {**dict(case.source.options), **changes["options"]}
        source, then = replace(case.source, **changes), self.then or case.then
        return replace(case, source=source, then=then, refusals=case.refusals[1:])


@dataclass(frozen=True, kw_only=True)
class Case:
    """The path of `source` is relative to the folder of the files; a file without content is an empty folder.

    `rows` are those of the target once all refusals are followed, `bad` the records that are set aside.
    """

    files: Mapping[str, Content]
    source: FileConnector
    then: Callable[[DataStream], DataStream] = unchanged
    refusals: tuple[Refusal, ...] = ()
    rows: Rows
    bad: Sequence[str] | None = None

    def put_files(self, folder: Path) -> None:
        """Write the files below a folder."""
        for name, content in self.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                file.mkdir()
            elif isinstance(content, pyarrow.Table):
                pyarrow.parquet.write_table(content, file)
            else:
                file.write_bytes(content.encode() if isinstance(content, str) else content)

    def pipeline(self, folder: Path, target: Path) -> Pipeline:
        """Return the pipeline that reads the files, and writes the targets `rows` and `bad`."""
        env = StreamExecutionEnvironment("case")
        source = replace(self.source, path=f"{folder}/{self.source.path}")
        read = env.from_source(source, "source")
        self.then(read).sink_to(Parquet(f"{target}/rows")).name("rows")
        if isinstance(source, RecordFiles) and source.rejects is not None:
            bad = read.get_side_output(source.rejects)
            bad.sink_to(Parquet(f"{target}/bad")).name("bad")
        return env.pipeline()


def published(target: Path) -> Rows | None:
    """Return the rows of a target as pyarrow reads them, in the order of their texts; None if there is none."""
    if not target.exists():
        return None
    rows: Rows = pyarrow.parquet.read_table(target).to_pylist()
    return in_order(rows)


def in_order(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: str(sorted(row.items())))


def _keywords(hint: str) -> dict[str, Any]:
    """Return the arguments that a hint is written as: `options={"sep": ";"}`."""
    call = ast.parse(f"f({hint})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
