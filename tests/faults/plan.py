"""What goes wrong in one run, and where: written by the harness, read by the driver in which it happens."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

FOLDER = "GRAPH_COMPILER_FAULTS"
"""The environment variable that names the folder of plans: <run id>.json, and <run id>.fired once it has happened."""


class Where(StrEnum):
    """The places in which runs stage, read and publish."""

    DISK = "disk"
    BUCKET = "bucket"
    HDFS = "hdfs"


class Fault(StrEnum):
    """The kinds of faults."""

    NONE = "none"
    KILL_JVM = "kill -9 JVM"
    KILL_DRIVER = "kill -9 Python driver"
    KILL_RUNNER = "kill -9 task runner"
    KILL_SUPERVISOR = "kill -9 supervisor"
    LOSE_FILE = "staged file deleted"
    LOSE_FOLDER = "staged folder deleted"
    LOSE_AND_CHANGE = "staged folder deleted, and its input is another one"
    TRUNCATE = "staged file truncated"
    FILE_SIZE_LIMIT = "disk full (RLIMIT_FSIZE of the JVM)"
    NO_SPACE = "disk full (ENOSPC)"
    NO_PERMISSION = "driver becomes an unprivileged user"
    DENIED = "no permission (EACCES)"
    HANG_AND_WAKE = "worker hangs, is superseded, wakes"
    HANG_AND_FAIL = "application hangs, is marked failed"
    OUT_OF_MEMORY = "driver out of memory"
    STARTED_TWICE = "the same try started twice"
    ROOT_FULL = "staging root full, then not"
    ROOT_READ_ONLY = "staging root read-only, then not"
    ROOT_GONE = "staging root unmounted, then back"
    DRIVER_MEMORY = "Python driver out of memory"
    CLEAR = "finished tasks cleared"
    GC_WHILE_PAUSED = "gc while the paused run waits"
    MANY_RUNS = "twenty runs at once"
    BACKFILL = "backfill of five days beside two manual runs"
    NEXT_RUN = "run fails, the next one follows"
    DELETED = "run deleted, and created again"
    CLEARED_LATE = "run cleared after the next one"
    TWO_RUNS = "two runs at once"
    BESIDE = "backfill of three days beside a manual run"
    LOST_ANSWER = "answer of the store lost"
    REPEATED = "request carried out twice"
    DELAYED = "driver killed, its request carried out 30 s later"
    STORM = "503 for 15 s"
    CUT = "connection reset in mid-body"
    EXPIRED = "credentials expired, then new ones"
    REFUSED = "store refuses writes, then not"
    PAUSED = "store paused for 20 s"
    AWAY = "store away, then back"


WAYS_TO_LOSE = (Fault.LOSE_FILE, Fault.TRUNCATE, Fault.LOSE_FOLDER)
LOSSES = (*WAYS_TO_LOSE, Fault.LOSE_AND_CHANGE)
"""Of data that is committed, before its consumer reads it."""
OUTAGES = (Fault.ROOT_FULL, Fault.ROOT_READ_ONLY, Fault.ROOT_GONE)
"""Of the staging root; they end after the execution they began in."""
OF_A_STORE = (
    Fault.LOST_ANSWER,
    Fault.REPEATED,
    Fault.DELAYED,
    Fault.STORM,
    Fault.CUT,
    Fault.EXPIRED,
    Fault.REFUSED,
    Fault.PAUSED,
    Fault.AWAY,
)
"""Done by the server of a bucket; HDFS can only be paused."""
OF_SEVERAL_RUNS = (Fault.NEXT_RUN, Fault.DELETED, Fault.CLEARED_LATE, Fault.TWO_RUNS, Fault.BESIDE)
"""Of runs that remember what others have read."""
OF_A_DISK = (Fault.NO_SPACE, Fault.NO_PERMISSION, Fault.DENIED, *OUTAGES)
"""A store has others in their place."""


class Point(StrEnum):
    """The points in an execution."""

    BEFORE_WORK = "before work"
    SPARK_UP = "when Spark is up"
    WHILE_WRITING = "while writing a partition"
    BEFORE_MANIFEST = "between data and manifest"
    AFTER_MANIFEST = "after the manifest"
    BEFORE_INTENT = "between prepared rows and intent"
    AFTER_ENTRY = "between increment and work"
    AFTER_CLAIM = "between claim and intent"
    AFTER_INTENT = "between intent and publish"
    MID_PUBLISH = "in the middle of publishing"
    BEFORE_POSITION = "between publication and position"
    ONE_BY_ONE = "after the run, one by one in every order"
    AT_ONCE = "after the run, last to first, without waiting"
    BETWEEN_TASKS = "when the first task has ended"
    WHOLE_RUN = "all the time"


IN_A_STORE = (
    Point.WHILE_WRITING,
    Point.BEFORE_MANIFEST,
    Point.AFTER_MANIFEST,
    Point.BEFORE_INTENT,
    Point.AFTER_INTENT,
    Point.MID_PUBLISH,
)
"""Where the server of a store notices that an execution is there."""
OF_A_POSITION = (Point.AFTER_ENTRY, Point.AFTER_CLAIM, Point.BEFORE_POSITION)
"""It notices these, too: of a source that reads only what is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A fault in the first execution of `region` that reaches `point`.

    `input` and `output` are the paths or URIs of the run's sources and targets; `lost` are ids of staged results that
    are damaged.
    """

    fault: Fault
    point: Point
    region: str
    input: str
    output: str
    lost: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        found = json.loads(text)
        return cls(
            fault=Fault(found["fault"]),
            point=Point(found["point"]),
            region=found["region"],
            input=found["input"],
            output=found["output"],
            lost=tuple(found["lost"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """A fault that has happened, and the processes involved; `names` are their command lines."""

    driver: int
    jvm: int
    runner: int
    supervisor: int
    names: dict[str, str]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Firing:
        return cls(**json.loads(text))


def plan_path(folder: Path, run_id: str) -> Path:
    return folder / f"{run_id}.json"


def driver_path(folder: Path, run_id: str) -> Path:
    """Return where the newest driver of a plan's region names its processes."""
    return folder / f"{run_id}.driver"


def firing_path(folder: Path, run_id: str) -> Path:
    return folder / f"{run_id}.fired"
