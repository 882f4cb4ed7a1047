"""A folder that runs and others write: the world of the machine for files."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyarrow import parquet
from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import Csv, FileConnector, Json, Orc, Parquet
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.stepping import SteppedStore
from tests.machine.alphabet import PLAIN_VALUES
from tests.machine.execution import Execution, Place, Request
from tests.machine.faults import Fate
from tests.machine.frames import frame, schema, table
from tests.machine.model import Row, State, Written, in_a_folder, in_folders
from tests.machine.reading import rows_in

FORMATS: dict[str, type[FileConnector]] = {"parquet": Parquet, "orc": Orc, "csv": Csv, "json": Json}
_DISKS = ("/dev/shm", "/var/tmp")
_ESCAPED = {chr(code) for code in range(1, 32)} | set("\"#%'*/:=?\\\x7f{[]^")
_ESCAPED_IN_GLOBS = set("\\[]{}*?")
_LONGEST_NAME = 255
"""Of a file on a disk, in bytes."""


@dataclass(frozen=True)
class Ground:
    """What stays the same in one world."""

    target: str = "out"
    column: str = "day"
    partitioned: bool = False
    format: str = "parquet"
    store: str = "local"
    link: str = "none"
    """Whether the target is a link: "none", "same disk", "other disk"."""


@dataclass
class FilesWorld:
    """A target on disk, the staging root, and a neighbor whose rows must not change."""

    spark: SparkSession
    ground: Ground
    folder: Path = field(init=False)
    elsewhere: Path = field(init=False)
    place: Place = field(init=False)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        disks = [disk for disk in _DISKS if Path(disk).is_dir()] or [tempfile.gettempdir()]
        self.folder = Path(tempfile.mkdtemp(prefix="machine-", dir=disks[0]))
        self.elsewhere = Path(tempfile.mkdtemp(prefix="machine-", dir=disks[-1]))
        store = LocalStore() if self.ground.store == "local" else SteppedStore()
        self.place = Place(self.spark, self.folder / "staging", store)
        self.target.parent.mkdir()
        if self.ground.link != "none":
            away = (self.elsewhere if self.ground.link == "other disk" else self.folder / "away") / "real"
            away.mkdir(parents=True)
            self.target.symlink_to(away)
        # What a glob of the target's name would match, too.
        self.neighbor = self.target.parent / "x1"
        if self.target != self.neighbor:
            self._put(self.neighbor / self._folder_of("a"), "neighbor", [(77, "a", -1)])
        self._beside = sorted(self.neighbor.rglob("*"))

    @property
    def target(self) -> Path:
        """Return the folder to which the sink writes."""
        return self.folder / "targets" / self.ground.target

    def end(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.elsewhere, ignore_errors=True)

    def execution(self, request: Request, fate: Fate) -> Execution:
        """Return the next execution."""
        return Execution(
            self.place, request, execution_id=f"e{next(self.numbers)}", fate=fate, folders=(self.folder, self.elsewhere)
        )

    @property
    def name(self) -> str:
        """Name the store."""
        return f"files, store {self.ground.store}"

    def request(self, written: Written, settings: Mapping[str, Any]) -> Request:
        """Return what an execution writes."""
        options = settings.get("options", ())
        path = settings.get("alias", "{}").format(self.target)
        return Request(
            run=written.run,
            connector=FORMATS[self.ground.format](path, options=options),
            mode=written.mode,
            rows=frame(self.spark, written.rows, self.ground.column),
            keys=tuple(self.ground.column if key == "part" else key for key in written.keys),
            partition_by=(self.ground.column,) if self.ground.partitioned else (),
            partitions=tuple((self.ground.column, value) for value in written.own),
            plan=written.sink[0],
            operator=OperatorId(written.sink[1] * 32),
        )

    def oddities(self, written: Written, settings: Mapping[str, Any]) -> list[str]:
        """Name options, names and values that are not plain."""
        odd = [f"option {key}={value}" for key, value in settings.get("options", ())]
        if self.ground.target != "out":
            odd.append(f"target {self.ground.target}")
        if self.ground.column != "day":
            odd.append(f"column {self.ground.column}")
        odd += [f"value {row[1]}" for row in written.rows if row[1] not in PLAIN_VALUES]
        odd += [f"own value {value}" for value in written.own if value not in PLAIN_VALUES]
        return odd

    def after(self, state: State, written: Written) -> list[State]:
        """Return what the folder must contain then."""
        return in_a_folder(state, written)

    def adds_nothing(self, state: State, written: Written) -> bool:  # noqa: ARG002  # files say who wrote them
        """Return False: every execution changes the target."""
        return False

    def as_seen(self, row: Row) -> Row:
        """Return a row as it is read from a folder."""
        id, part, number = row
        return (id, in_folders(part) if self.ground.partitioned else part, number)

    def seen(self) -> Counter[Row]:
        """Count the rows in the target, without Spark."""
        return rows_in(self.target, self.ground.column, self.ground.format)

    def seen_by_spark(self) -> Counter[Row]:
        """Count the rows in the target by reading it with Spark."""
        if not self.target.exists():
            return Counter()
        path = "".join(f"\\{c}" if c in _ESCAPED_IN_GLOBS else c for c in str(self.target))
        reader = self.spark.read.format(self.ground.format).schema(schema(self.ground.column))
        if self.ground.format == "csv":
            reader = reader.options(header="true")
        rows = reader.load(path).collect()
        return Counter((row["id"], row[self.ground.column], row["number"]) for row in rows)

    def what_else_changed(self) -> str | None:
        """Whether the folder beside the target is as it was."""
        if self.target == self.neighbor or self._beside == sorted(self.neighbor.rglob("*")):
            return None
        return "the folder beside the target has changed"

    def others_put(self, name: str, row: Row, *, linked: str = "none") -> None:
        """Let somebody else put a file with one row into the target, or behind a link that they put there."""
        folder = self.target / self._folder_of(row[1])
        if linked != "none" and folder != self.target and not os.path.lexists(folder):
            disk = self.elsewhere if linked == "other disk" else self.folder
            away = disk / f"linked-{next(self.numbers)}"
            away.mkdir()
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.symlink_to(away)
        self._put(folder, f"{name}.{next(self.numbers)}", [row])

    def may_have_a_folder(self, part: str | None) -> bool:
        """Whether a partition's folder can be made: column and value together may be too long for a disk."""
        return len(os.fsencode(self._folder_of(part))) <= _LONGEST_NAME

    def _put(self, folder: Path, name: str, rows: list[Row]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        data = table(rows, self.ground.column)
        if self.ground.partitioned:
            data = data.drop_columns([self.ground.column])
        parquet.write_table(data, folder / f"{name}.parquet")

    def _folder_of(self, part: str | None) -> str:
        if not self.ground.partitioned:
            return "."
        value = part if part not in ("", None) else "__HIVE_DEFAULT_PARTITION__"
        assert value is not None
        return f"{_escaped(self.ground.column)}={_escaped(value)}"


def _escaped(name: str) -> str:
    """Return a name as Spark writes it into a folder's name."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in name)
