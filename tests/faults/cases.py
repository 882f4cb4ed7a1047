"""Which faults happen, and where: the same cases in the same order for the same seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from tests.faults.plan import IN_A_STORE, OF_A_DISK, WAYS_TO_LOSE, Fault, Point, Where
from tests.faults.workloads import (
    DIAMOND,
    FLIGHTS,
    PAYMENTS,
    SHARED_TARGET,
    SHARED_TASK,
    SINK_MODES,
    THREE_REPORTS,
    Workload,
)

KILLS = (Fault.KILL_JVM, Fault.KILL_DRIVER, Fault.KILL_RUNNER, Fault.KILL_SUPERVISOR)
KILL_POINTS = (
    Point.BEFORE_WORK,
    Point.WHILE_WRITING,
    Point.BEFORE_MANIFEST,
    Point.AFTER_MANIFEST,
    Point.AFTER_INTENT,
    Point.MID_PUBLISH,
)
_ELSEWHERE = (
    (Fault.FILE_SIZE_LIMIT, (Point.BEFORE_WORK, Point.SPARK_UP)),
    (Fault.NO_SPACE, (Point.BEFORE_MANIFEST, Point.AFTER_INTENT)),
    (Fault.NO_PERMISSION, (Point.BEFORE_MANIFEST, Point.AFTER_INTENT)),
    (Fault.DENIED, (Point.AFTER_MANIFEST, Point.MID_PUBLISH)),
    (Fault.HANG_AND_WAKE, (Point.WHILE_WRITING, Point.BEFORE_MANIFEST, Point.AFTER_INTENT, Point.MID_PUBLISH)),
    (Fault.HANG_AND_FAIL, (Point.WHILE_WRITING, Point.MID_PUBLISH)),
    (Fault.OUT_OF_MEMORY, (Point.SPARK_UP, Point.SPARK_UP)),
    (Fault.DRIVER_MEMORY, (Point.SPARK_UP, Point.BEFORE_INTENT)),
    (Fault.STARTED_TWICE, (Point.BEFORE_WORK, Point.SPARK_UP)),
    (Fault.ROOT_FULL, (Point.BEFORE_MANIFEST, Point.BEFORE_INTENT)),
    (Fault.ROOT_READ_ONLY, (Point.BEFORE_WORK, Point.AFTER_INTENT)),
    (Fault.ROOT_GONE, (Point.AFTER_MANIFEST, Point.MID_PUBLISH)),
)
_IN_A_BUCKET = (
    (Fault.LOST_ANSWER, (Point.AFTER_MANIFEST, Point.AFTER_INTENT, Point.MID_PUBLISH)),
    (Fault.REPEATED, (Point.AFTER_MANIFEST, Point.AFTER_INTENT, Point.MID_PUBLISH)),
    (Fault.DELAYED, (Point.BEFORE_MANIFEST, Point.BEFORE_INTENT, Point.MID_PUBLISH)),
    (Fault.STORM, (Point.WHILE_WRITING, Point.BEFORE_MANIFEST, Point.MID_PUBLISH)),
    (Fault.CUT, (Point.WHILE_WRITING, Point.BEFORE_MANIFEST, Point.BEFORE_INTENT)),
    (Fault.EXPIRED, (Point.BEFORE_MANIFEST, Point.AFTER_INTENT)),
    (Fault.REFUSED, (Point.AFTER_MANIFEST, Point.MID_PUBLISH)),
    (Fault.PAUSED, (Point.WHILE_WRITING, Point.BEFORE_INTENT)),
    (Fault.AWAY, (Point.AFTER_MANIFEST, Point.MID_PUBLISH)),
)
_IN_HDFS = ((Fault.PAUSED, IN_A_STORE),)
_FAILURES = {
    Where.DISK: (Fault.NO_SPACE, Fault.ROOT_GONE),
    Where.BUCKET: (Fault.DENIED, Fault.AWAY),
    Where.HDFS: (Fault.PAUSED, Fault.HANG_AND_FAIL),
}
"""What each region of a shared task meets, and its last one in the middle of publishing."""
_SUPERSEDED_POINTS = (Point.BEFORE_INTENT, Point.AFTER_INTENT)
_REMEMBERED = (
    (Fault.KILL_JVM, "paid", Point.AFTER_ENTRY),
    (Fault.KILL_DRIVER, "before", Point.AFTER_MANIFEST),
    # Without a JVM, the driver would finish what needs none: it claims, publishes and reports in Python.
    (Fault.KILL_DRIVER, "log", Point.AFTER_CLAIM),
    (Fault.KILL_DRIVER, "log", Point.AFTER_INTENT),
    (Fault.KILL_DRIVER, "log", Point.BEFORE_POSITION),
    (Fault.KILL_RUNNER, "totals", Point.AFTER_INTENT),
    (Fault.KILL_JVM, "log", Point.MID_PUBLISH),
    (Fault.KILL_DRIVER, "totals", Point.BEFORE_POSITION),
    (Fault.KILL_RUNNER, "log", Point.BEFORE_POSITION),
    (Fault.KILL_JVM, "by_day", Point.AFTER_INTENT),
    (Fault.KILL_DRIVER, "by_day", Point.MID_PUBLISH),
    (Fault.HANG_AND_WAKE, "paid", Point.AFTER_ENTRY),
    (Fault.HANG_AND_WAKE, "before", Point.BEFORE_MANIFEST),
    (Fault.HANG_AND_WAKE, "log", Point.AFTER_CLAIM),
    (Fault.HANG_AND_WAKE, "log", Point.BEFORE_POSITION),
    (Fault.HANG_AND_WAKE, "totals", Point.AFTER_INTENT),
    (Fault.HANG_AND_WAKE, "by_day", Point.MID_PUBLISH),
    (Fault.CLEAR, "", Point.AT_ONCE),
    (Fault.CLEAR, "", Point.ONE_BY_ONE),
    (Fault.CLEARED_LATE, "", Point.WHOLE_RUN),
    (Fault.NEXT_RUN, "paid", Point.AFTER_ENTRY),
    (Fault.NEXT_RUN, "log", Point.AFTER_CLAIM),
    (Fault.NEXT_RUN, "log", Point.BEFORE_POSITION),
    (Fault.NEXT_RUN, "totals", Point.AFTER_INTENT),
    (Fault.NEXT_RUN, "totals", Point.BEFORE_POSITION),
    (Fault.DELETED, "paid", Point.AFTER_ENTRY),
    (Fault.DELETED, "log", Point.AFTER_CLAIM),
    (Fault.DELETED, "totals", Point.AFTER_INTENT),
    (Fault.DELETED, "", Point.WHOLE_RUN),
    (Fault.TWO_RUNS, "", Point.WHOLE_RUN),
    (Fault.BESIDE, "", Point.WHOLE_RUN),
)
"""What happens to the second of three runs that read what others have left."""
# The region that finds something lost, and whose results are: one step up, two steps up, and what others have read too.
_LOST = (
    (FLIGHTS, "late_routes", ("with_weather",)),
    (DIAMOND, "by_customer", ("valid",)),
    (DIAMOND, "large", ("valid",)),
    (DIAMOND, "report", ("large",)),
    (DIAMOND, "report", ("by_customer", "large")),
    (DIAMOND, "report", ("valid", "large")),
    (DIAMOND, "report", ("valid",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One fault in one run; `region` is empty if no execution is hit, `lost` are regions with damaged results."""

    workload: str
    fault: Fault
    point: Point
    region: str
    seed: int
    lost: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Return a name for both a file and a run."""
        words = [self.workload, self.fault.name, self.point.name, self.region, *self.lost]
        return ".".join([*filter(None, words), str(self.seed)]).lower()


def undisturbed(workload: Workload) -> Case:
    """Return the run with which others are compared."""
    return Case(workload=workload.name, fault=Fault.NONE, point=Point.BEFORE_WORK, region="", seed=0)


def all_cases(seed: int, where: Where = Where.DISK) -> tuple[Case, ...]:
    """Return every case of a seed: undisturbed runs first, the others in a varied order, in case it stops early."""
    random = Random(seed)
    cases = [
        *_kills(random, seed),
        *_losses(random, seed),
        *_others(random, seed, _elsewhere(where)),
        *_superseded(seed),
        *_in_shared_task(random, seed, where),
    ]
    random.shuffle(cases)
    first = map(undisturbed, (FLIGHTS, DIAMOND, SHARED_TASK, SINK_MODES))
    # Those of runs that remember come last, so that the order of the others is the one of earlier versions.
    more = (*_clearing(seed), *_from_outside(seed), undisturbed(THREE_REPORTS), *_computed_once(seed))
    return (*first, *cases, *more, undisturbed(PAYMENTS), *_remembering(seed))


def _kills(random: Random, seed: int) -> Iterator[Case]:
    """Kill every process at every point; each process and each point in both pipelines."""
    for row, fault in enumerate(KILLS):
        for column, point in enumerate(KILL_POINTS):
            yield _somewhere(random, seed, fault, point, turn=row + column)


def _elsewhere(where: Where) -> Iterator[tuple[Fault, tuple[Point, ...]]]:
    """Yield faults that happen at some points only, as the place of a run has them."""
    if where is Where.DISK:
        yield from _ELSEWHERE
        return
    for fault, points in _ELSEWHERE:
        if fault is Fault.DRIVER_MEMORY:  # the driver itself has to be at the point
            yield fault, (Point.SPARK_UP, Point.SPARK_UP)
        elif fault not in OF_A_DISK:
            yield fault, points
    yield from _IN_A_BUCKET if where is Where.BUCKET else _IN_HDFS


def _others(random: Random, seed: int, elsewhere: Iterable[tuple[Fault, tuple[Point, ...]]]) -> Iterator[Case]:
    for fault, points in elsewhere:
        for turn, point in enumerate(points):
            yield _somewhere(random, seed, fault, point, turn=turn)


def _losses(random: Random, seed: int) -> Iterator[Case]:
    ways = random.sample(WAYS_TO_LOSE, len(WAYS_TO_LOSE))
    for turn, (workload, region, lost) in enumerate(_LOST):
        yield Case(
            workload=workload.name,
            fault=ways[turn % len(ways)],
            point=Point.BEFORE_WORK,
            region=region,
            seed=seed,
            lost=lost,
        )

    yield Case(
        workload=DIAMOND.name,
        fault=Fault.LOSE_AND_CHANGE,
        point=Point.BEFORE_WORK,
        region="report",
        seed=seed,
        lost=("valid", "large"),
    )


def _superseded(seed: int) -> Iterator[Case]:
    """Stop a driver before and after it decides, in every sink mode; it continues when its successor has published."""
    for region in SINK_MODES.regions:
        for point in _SUPERSEDED_POINTS:
            yield Case(workload=SINK_MODES.name, fault=Fault.HANG_AND_WAKE, point=point, region=region, seed=seed)


def _in_shared_task(random: Random, seed: int, where: Where) -> Iterator[Case]:
    """Hit each region of the shared task with every kind of death, and with a failure that its siblings survive."""
    failure, outage = _FAILURES[where]
    for fault in (*KILLS, Fault.HANG_AND_WAKE, failure):
        for region in SHARED_TASK.regions[1:]:
            points = [each for each in SHARED_TASK.points[region] if each in KILL_POINTS]
            if fault is failure:  # an exception in the driver's own thread
                points.remove(Point.WHILE_WRITING)
            yield Case(workload=SHARED_TASK.name, fault=fault, point=random.choice(points), region=region, seed=seed)
    for fault, region, point in (
        (Fault.HANG_AND_FAIL, "large", Point.WHILE_WRITING),
        (Fault.STARTED_TWICE, "valid", Point.SPARK_UP),
        (Fault.OUT_OF_MEMORY, "valid", Point.SPARK_UP),
        (outage, "report", Point.MID_PUBLISH),
    ):
        yield Case(workload=SHARED_TASK.name, fault=fault, point=point, region=region, seed=seed)


def _from_outside(seed: int) -> Iterator[Case]:
    for workload, fault, point in (
        (DIAMOND, Fault.GC_WHILE_PAUSED, Point.BETWEEN_TASKS),
        (SHARED_TARGET, Fault.MANY_RUNS, Point.WHOLE_RUN),
        (SHARED_TARGET, Fault.BACKFILL, Point.WHOLE_RUN),
    ):
        yield Case(workload=workload.name, fault=fault, point=point, region="", seed=seed)


def _remembering(seed: int) -> Iterator[Case]:
    """Hit runs that read what others have left between each two steps, and before, beside and after each other."""
    for fault, region, point in _REMEMBERED:
        yield Case(workload=PAYMENTS.name, fault=fault, point=point, region=region, seed=seed)


def _computed_once(seed: int) -> Iterator[Case]:
    """Hit a task before, within and after what it computes once for three reports, and between their publications."""
    for fault, point in (
        (Fault.KILL_JVM, Point.BEFORE_MANIFEST),
        (Fault.KILL_DRIVER, Point.AFTER_MANIFEST),
        (Fault.KILL_RUNNER, Point.AFTER_MANIFEST),
        (Fault.HANG_AND_WAKE, Point.AFTER_MANIFEST),
        (Fault.KILL_DRIVER, Point.BEFORE_INTENT),
        (Fault.KILL_JVM, Point.MID_PUBLISH),
    ):
        yield Case(workload=THREE_REPORTS.name, fault=fault, point=point, region="by_class", seed=seed)


def _clearing(seed: int) -> Iterator[Case]:
    for workload in (FLIGHTS, DIAMOND, SHARED_TASK):
        for point in (Point.AT_ONCE, Point.ONE_BY_ONE):
            yield Case(workload=workload.name, fault=Fault.CLEAR, point=point, region="", seed=seed)


def _somewhere(random: Random, seed: int, fault: Fault, point: Point, *, turn: int) -> Case:
    workload = (FLIGHTS, DIAMOND)[(turn + seed) % 2]
    region = random.choice([each for each in workload.regions if point in workload.points[each]])
    return Case(workload=workload.name, fault=fault, point=point, region=region, seed=seed)


def every_order(tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return a sequence that contains every order of the tasks: for four tasks 33 steps, not 24 times 4.

    The usual superpermutation: each order of n − 1 tasks becomes itself, the n-th, itself again, overlapping.
    """
    if len(tasks) <= 1:
        return tasks
    *others, last = tasks
    shorter = every_order(tuple(others))
    size = len(others)
    found: list[str] = []
    for start in range(len(shorter) - size + 1):
        window = shorter[start : start + size]
        if len(set(window)) == size:
            _append(found, [*window, last, *window])
    return tuple(found)


def _append(found: list[str], more: list[str]) -> None:
    overlap = next(n for n in range(len(more), -1, -1) if n == 0 or found[-n:] == more[:n])
    found.extend(more[overlap:])
