"""What a run left, and the problems with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempts import executions, regions_of
from graph_compiler.staging.store.staging_store import StagingStore
from tests.faults.cases import KILLS, Case, every_order
from tests.faults.places.file_points import is_visible
from tests.faults.plan import LOSSES, OF_SEVERAL_RUNS, OUTAGES, Fault, Point
from tests.faults.workloads import WORKLOADS

REFUSED = "in Airflow's UI, clear "
_ALL = 100
_MAY_FINISH = (Fault.KILL_RUNNER, Fault.KILL_SUPERVISOR, Fault.STARTED_TWICE)
"""The first execution may finish before a second one begins, which keeps its work then."""
# The first execution, or its request, goes on beside the second, which may lose to it and be tried again.
_LIVES_ON = (Fault.KILL_RUNNER, Fault.KILL_SUPERVISOR, Fault.HANG_AND_WAKE, Fault.STARTED_TWICE, Fault.DELAYED)
_SURVIVED = (Fault.LOST_ANSWER, Fault.REPEATED, Fault.CUT, Fault.PAUSED)
"""No execution ends by these."""
_MAY_BE_SURVIVED = (Fault.STORM, Fault.AWAY)
"""An execution may ask until it is answered again."""
_OUTAGES = (*OUTAGES, Fault.EXPIRED, Fault.REFUSED, *_MAY_BE_SURVIVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One execution of a task, as in the history; `recomputed` are tasks whose results it recomputed."""

    state: ExecutionState
    reason: str
    recomputed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a run left.

    `fired`: the fault has happened. `cleared`: tasks that were cleared since the run said they must be, and how often
    each had run by then. `rows`: how targets differ from the reference. `beside`: hidden files
    that are left where targets are.
    `alive`: processes of the run that did not end. `late`: what did not happen in time.
    """

    fired: bool
    state: str
    attempts: Mapping[str, tuple[Attempt, ...]]
    cleared: Mapping[str, int]
    rows: str
    beside: tuple[str, ...]
    alive: int
    late: str = ""

    @property
    def rerun(self) -> tuple[str, ...]:
        """Return the tasks that ran more than once."""
        return tuple(task for task, attempts in self.attempts.items() if len(attempts) > 1)

    @property
    def recomputed(self) -> tuple[str, ...]:
        """Return the tasks whose results were recomputed, and by which task, in order."""
        return tuple(
            f"{producer} in {task}"
            for task, attempts in self.attempts.items()
            for attempt in attempts
            for producer in attempt.recomputed
        )


NO_FACTS = Facts(fired=False, state="unknown", attempts={}, cleared={}, rows="", beside=(), alive=0)


def attempts_of(store: StagingStore, layout: StagingLayout) -> dict[str, tuple[Attempt, ...]]:
    """Read the history of a run."""
    return {
        str(region_id): tuple(
            Attempt(
                state=found.state,
                reason=found.reason or "",
                recomputed=tuple(str(one.producer) for one in (found.report.recomputed if found.report else ())),
            )
            for found in executions(store, layout, region_id, size=_ALL)
        )
        for region_id in regions_of(store, layout)
    }


def leftovers(output: Path) -> tuple[str, ...]:
    """List hidden files below an output folder, except Spark's checksums and success markers."""
    found = (path.relative_to(output) for path in output.rglob("*") if path.is_file())
    return tuple(sorted(str(path) for path in found if not is_visible(output / path, output)))


def difference(compare: Callable[[Path, Path], None], input: Path, output: Path) -> str:
    """Return how targets differ from the reference, empty if they do not."""
    try:
        compare(input, output)
    except Exception as error:  # a target that is not there is DuckDB's error, rows that differ an assertion's
        return f"{type(error).__name__}: {str(error)[:300]}"
    return ""


def outcome(facts: Facts) -> str:
    """Return in a few words how the run ended."""
    if facts.cleared:
        return f"refused with a message; {', '.join(facts.cleared)} cleared as told; {facts.state}"
    return facts.state


def problems(case: Case, facts: Facts) -> Iterator[str]:
    """Yield the problems of the run."""
    if case.region and not facts.fired:
        yield f"no execution of {case.region} came to the point"
    if facts.late:
        yield facts.late
    if facts.state != "success":
        yield f"the run ended in {facts.state}: {_last_reason(facts)}"
    if facts.rows:
        yield f"rows: {facts.rows}"
    if facts.alive:
        yield f"{facts.alive} processes of the run are still there"
    yield from _attempt_problems(case, facts)
    yield from _recompute_problems(case, facts)


def expected_attempts(case: Case, facts: Facts) -> dict[str, range]:
    """Return how often each region runs: once, except the one that is hit, and those that must be cleared.

    In a shared task, regions that came before the one that is hit are kept. Those behind it may have run or not.
    """
    workload = WORKLOADS[case.workload]
    if case.fault in (Fault.MANY_RUNS, Fault.BACKFILL, *OF_SEVERAL_RUNS):
        return {}  # of each run; who comes second to a target takes the next turn
    if case.fault is Fault.CLEAR:
        order = every_order(workload.tasks) if case.point is Point.ONE_BY_ONE else workload.tasks
        times = {each: 1 + order.count(workload.task_of(each)) for each in workload.regions}
        return {region: range(count, count + 1) for region, count in times.items()}
    least = dict.fromkeys(workload.regions, 1)
    if case.region and case.fault not in (*LOSSES, *_MAY_FINISH, *_SURVIVED, *_MAY_BE_SURVIVED):
        least[case.region] = 2
    least |= {region: ran + 1 for region, ran in facts.cleared.items()}
    # An outage lasts longer than an attempt may take to fail.
    most = 2 if case.fault in _OUTAGES else 1 if case.fault in _LIVES_ON else 0
    more = dict.fromkeys(workload.regions, 0) | ({case.region: most} if case.region else {})
    if case.region:
        task, behind = workload.task_of(case.region), workload.regions[workload.regions.index(case.region) + 1 :]
        more |= dict.fromkeys((each for each in behind if workload.task_of(each) == task), 1 + most)
    return {region: range(count, count + 1 + more[region]) for region, count in least.items()}


def _attempt_problems(case: Case, facts: Facts) -> Iterator[str]:
    for task, wanted in expected_attempts(case, facts).items():
        attempts = facts.attempts.get(task, ())
        if len(attempts) not in wanted:
            yield f"{task} ran {len(attempts)} times; expected: {wanted.start} to {wanted.stop - 1}"
        elif attempts[-1].state is not ExecutionState.FINISHED:
            yield f"{task} is {attempts[-1].state} in the history"
    if case.fault in (*KILLS[:2], Fault.OUT_OF_MEMORY, Fault.FILE_SIZE_LIMIT):
        first = facts.attempts.get(case.region, ())[:1]
        if first and (first[0].state is not ExecutionState.FAILED or not first[0].reason):
            yield f"{case.region} #1 is {first[0].state} ({first[0].reason or 'no reason'}) in the history"


def _recompute_problems(case: Case, facts: Facts) -> Iterator[str]:
    """Check that only results that are lost and read were recomputed."""
    found = set(facts.recomputed)
    allowed = {f"{lost} in {task}" for lost in case.lost for task in (case.region, *facts.cleared)}
    if unexpected := sorted(found - allowed):
        yield f"computed again: {', '.join(unexpected)}"
    reads = WORKLOADS[case.workload].reads.get(case.region, ())
    if bool(facts.cleared) is not (case.fault is Fault.LOSE_AND_CHANGE):
        yield "who had read other rows must be cleared, and nobody else: " + (
            f"cleared: {', '.join(facts.cleared) or 'none'}"
        )
    needed = {f"{lost} in {case.region}" for lost in case.lost if lost in reads}
    if not facts.cleared and (missing := sorted(needed - found)):
        yield f"not computed again: {', '.join(missing)}"


def _last_reason(facts: Facts) -> str:
    reasons = [attempt.reason for attempts in facts.attempts.values() for attempt in attempts[-1:]]
    return next((reason for reason in reversed(reasons) if reason), "no reason")[:300]
