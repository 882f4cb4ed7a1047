"""Submit, follow, cancel and resume runs, and find what they have published."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout, staging_root_at
from graph_compiler.errors import ParameterError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, TaskName
from graph_compiler.projects.airflow_configuration import STAGING_FOLDER, configuration_file, expanded, find_setting
from graph_compiler.run_client.login import Login
from graph_compiler.run_client.published import RunResult, layouts_in, published
from graph_compiler.run_client.run_status import (
    AirflowRefusedError,
    AirflowUnreachableError,
    DagFacts,
    RunNotFoundError,
    RunStateError,
    RunStatus,
    TaskStatus,
    Trigger,
)
from graph_compiler.staging.attempts.attempts import regions_of, task_names
from graph_compiler.staging.gc.inventory import ResultFolder, StagedRun
from graph_compiler.staging.gc.survey import survey_run
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of

if TYPE_CHECKING:
    from graph_compiler.run_client.rest_end import RestEnd

_SECONDS_BETWEEN_LOOKS = 2.0


class RunClient:
    """A client for the runs of an Airflow; close it, or use it in a `with` statement.

    A Dag is named by its id. A pipeline in a Dag with others is named as `graph-compiler history` names it:
    `PIPELINE@DAG:GROUP:MAP_INDEX`. `staging_root` is where runs stage rows and leave their reports, as seen from this
    host; by default, what the settings of this host's Airflow say.

    All methods raise AirflowUnreachableError if Airflow does not answer, AirflowRefusedError if it refuses, and
    RunNotFoundError if there is no such Dag or run.
    """

    def __init__(self, end: RestEnd, *, staging_root: str, pause: Callable[[float], None] = time.sleep) -> None:
        self._end = end
        self._root = staging_root
        self._pause = pause

    @classmethod
    def of_api(cls, url: str, login: Login, *, staging_root: str | None = None) -> Self:
        """Return a client for the Airflow whose API server has an address; raises ParameterError for a bad address."""
        from graph_compiler.run_client.rest_end import RestEnd  # the core has no httpx

        return cls(RestEnd(url, login), staging_root=staging_root or _staging_root(os.environ))

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._end.close()

    def has_scheduler(self) -> bool:
        """Whether a scheduler is alive, without which runs wait."""
        return self._end.has_scheduler()

    def submit(
        self,
        dag: str,
        *,
        params: Mapping[str, object] | None = None,
        date: str | None = None,
        run_id: str | None = None,
    ) -> RunStatus:
        """Start a run and return it, without waiting for its end; `date` is its logical date, by default now.

        A lost answer does not start a second run: the run's id is chosen here, and looked for. Raises RunStateError
        for a Dag that is paused or cannot be imported, and if it has a run with this id or this date.
        """
        dag_id = RunIdentity.named(dag, "").dag_id
        moment, named_after = moment_of(date)
        wanted = Trigger(
            dag_id=dag_id, run_id=run_id or new_run_id(named_after), logical_date=moment, conf=dict(params or {})
        )
        self._require_startable(dag_id)
        if run_id is not None and self._end.find_run(dag_id, run_id) is not None:
            raise RunStateError(f"Dag '{dag_id}' already has a run '{run_id}'")
        trigger(self._end, wanted, self._pause)
        try:
            return self.status(dag, wanted.run_id)
        except AirflowUnreachableError as error:
            raise AirflowUnreachableError(
                f"run '{wanted.run_id}' of '{dag_id}' was started, but its state is not known: {error}"
            ) from None

    def status(self, dag: str, run_id: str | None = None) -> RunStatus:
        """Return a run, by default the Dag's newest, with its tasks; for a pipeline in a Dag, only with that one's."""
        identity = RunIdentity.named(dag, run_id or "")
        found = self._end.find_run(identity.dag_id, run_id)
        if found is None:
            self._require_dag(identity.dag_id)
            what = "runs" if run_id is None else f"run '{run_id}'"
            raise RunNotFoundError(f"Dag '{identity.dag_id}' has no {what}, says {self._end.name}")
        return found.only(identity)

    def wait(
        self,
        dag: str,
        run_id: str,
        *,
        seconds: float | None = None,
        on_look: Callable[[RunStatus], None] = lambda _: None,
    ) -> RunStatus:
        """Wait until a run is over, and return it; raises TimeoutError after some seconds, if they are given.

        `on_look` gets the run each time it is looked at. While Airflow does not answer, it is asked again.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        silent = 0
        while True:
            try:
                found = self.status(dag, run_id)
                silent = 0
            except AirflowUnreachableError:
                silent += 1
                if silent > TRIES:
                    raise
            else:
                on_look(found)
                if found.state.is_terminal:
                    return found
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"run '{run_id}' of '{dag}' is not over after {seconds:g} s")
            self._pause(_SECONDS_BETWEEN_LOOKS)

    def cancel(self, dag: str, run_id: str) -> RunStatus:
        """End a run: Airflow marks it as failed, ends its running tasks, and skips the others. Return it.

        Rows that finished tasks have staged and published stay. Raises RunStateError if the run is over, or if only a
        part of a Dag is named.
        """
        identity = RunIdentity.named(dag, run_id)
        if not identity.is_whole_dag:
            raise RunStateError(
                f"'{dag}' is a part of Dag '{identity.dag_id}', and Airflow cancels only whole runs\n"
                f"  hint: cancel the run of '{identity.dag_id}', or mark tasks as failed in Airflow's UI"
            )
        found = self.status(dag, run_id)
        if found.state.is_terminal:
            raise RunStateError(f"run '{run_id}' of '{dag}' is over: it is {found.state}")
        self._end.fail(identity.dag_id, run_id)
        return self.status(dag, run_id)

    def resume(self, dag: str, run_id: str) -> tuple[TaskStatus, ...]:
        """Let a failed or canceled run continue, and return the tasks that run again, as they were.

        These are the tasks that failed or did not run for that, and those whose staged rows they need and which are
        lost. No other task runs again. Raises RunStateError if the run is not over, or if nothing has failed.
        """
        identity = RunIdentity.named(dag, run_id)
        whole = self.status(identity.dag_id, run_id)
        if not whole.state.is_terminal:
            raise RunStateError(
                f"run '{run_id}' of '{dag}' is {whole.state}: it can be resumed when it is over\n"
                "  hint: to end it, cancel it first"
            )
        found = whole.only(identity)
        layouts = self._layouts(dag, run_id)
        tasks = with_lost_results(store_of(self._root), layouts, found)
        if not tasks:
            raise RunStateError(f"run '{run_id}' of '{dag}' has nothing to resume: all its tasks finished")
        self._clear(identity.dag_id, run_id, tasks)
        return tasks

    def result(self, dag: str, run_id: str) -> RunResult:
        """Return what a run has published so far; raises RunNotFoundError if the staging root has nothing of it."""
        layouts = self._layouts(dag, run_id)
        if not layouts:
            raise RunNotFoundError(
                f"nothing of run '{run_id}' of '{dag}' is in {self._root}\n"
                "  hint: none of its tasks has begun, or its workers have another staging root"
            )
        return published(store_of(self._root), layouts)

    def _layouts(self, dag: str, run_id: str) -> tuple[StagingLayout, ...]:
        wanted = RunIdentity.named(dag, run_id)
        return layouts_in(store_of(self._root), self._root, wanted, is_named="@" in dag)

    def _require_startable(self, dag_id: str) -> None:
        facts = self._require_dag(dag_id)
        if facts.has_import_errors:
            raise RunStateError(
                f"the file of Dag '{dag_id}' cannot be imported\n"
                "  hint: Airflow's UI shows the error; so does `graph-compiler validate`"
            )
        if facts.is_paused:
            raise RunStateError(
                f"Dag '{dag_id}' is paused: its run would be queued until someone unpauses it\n"
                f"  hint: unpause it in Airflow's UI, or with `airflow dags unpause {dag_id}`"
            )

    def _require_dag(self, dag_id: str) -> DagFacts:
        facts = self._end.find_dag(dag_id)
        if facts is None:
            raise RunNotFoundError(
                f"there is no Dag '{dag_id}', says {self._end.name}\n"
                "  hint: is there a file in its dags/ that builds it, and is Airflow's Dag processor running? A user "
                "with fewer rights does not see every Dag"
            )
        return facts

    def _clear(self, dag_id: str, run_id: str, tasks: Sequence[TaskStatus]) -> None:
        """Clear tasks; after a lost answer, only if the run is still over: clearing and restarting it is one step."""
        for left in reversed(range(TRIES)):
            try:
                self._end.clear(dag_id, run_id, tasks)
                return
            except AirflowUnreachableError:
                self._pause(SECONDS_BETWEEN_TRIES)
                found = self._end.find_run(dag_id, run_id)
                if found is not None and not found.state.is_terminal:
                    return
                if not left:
                    raise


def _staging_root(environment: Mapping[str, str]) -> str:
    home = Path(expanded(environment.get("AIRFLOW_HOME", "~/airflow")))
    found = find_setting("staging_root", configuration_file(home, environment), environment)
    return staging_root_at(found.value if found else str(home.absolute() / STAGING_FOLDER))


TRIES = 4
SECONDS_BETWEEN_TRIES = 2.0


def new_run_id(named_after: str) -> str:
    """Return a run id that no other run has, also if another client starts one at the same time."""
    return f"manual__{named_after}__{secrets.token_hex(4)}"


def moment_of(day: str | None) -> tuple[str, str]:
    """Return a logical date in ISO form, and what the run's id is named after; without a day, now.

    Raises ParameterError for text that is not a day.
    """
    if day is None:
        now = datetime.now(UTC)
        return now.isoformat(), now.isoformat(timespec="seconds")
    try:
        found = date.fromisoformat(day)
    except ValueError:
        raise ParameterError(f"the date is '{day}'\n  allowed: a day, such as 2013-01-01") from None
    return datetime(found.year, found.month, found.day, tzinfo=UTC).isoformat(), found.isoformat()


def trigger(end: RestEnd, wanted: Trigger, pause: Callable[[float], None]) -> None:
    """Start a run. If no answer comes, look whether it is there before asking again.

    Raises AirflowUnreachableError if that cannot be found out, RunStateError if another run has its id or its date.
    """
    lost: AirflowUnreachableError | None = None
    for _ in range(TRIES):
        try:
            end.trigger(wanted)
            return
        except AirflowUnreachableError as error:
            lost = error
            pause(SECONDS_BETWEEN_TRIES)
            if _is_there(end, wanted):
                return
        except AirflowRefusedError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            if lost is not None and _is_there(end, wanted):
                return
            raise _conflict(end, wanted) from None
    raise AirflowUnreachableError(
        f"{lost}\n  hint: it is not known whether run '{wanted.run_id}' of '{wanted.dag_id}' was started; its "
        "status shows it, when Airflow answers again"
    )


def _is_there(end: RestEnd, wanted: Trigger) -> bool:
    try:
        return end.find_run(wanted.dag_id, wanted.run_id) is not None
    except AirflowUnreachableError:
        return False


def _conflict(end: RestEnd, wanted: Trigger) -> RunStateError:
    other = end.run_of_date(wanted.dag_id, wanted.logical_date)
    if other is None or other == wanted.run_id:
        return RunStateError(f"Dag '{wanted.dag_id}' already has a run '{wanted.run_id}'")
    return RunStateError(
        f"Dag '{wanted.dag_id}' already has a run of {wanted.logical_date}: '{other}'\n"
        "  hint: Airflow allows one run for each date. Resume it if it failed; to run the date again, clear or "
        "delete that run in Airflow's UI"
    )


_REMOVED = "removed"
"""Airflow's state of a task that the Dag no longer has."""


def unfinished(run: RunStatus) -> tuple[TaskStatus, ...]:
    """Return the tasks of a run that is over which have not finished: failed, and not run for that.

    What a branch has skipped is among them. Airflow skips it again, since the branch's choice is kept.
    """
    return tuple(
        task for task in run.tasks if task.state is not ExecutionState.FINISHED and task.airflow_state != _REMOVED
    )


def with_lost_results(store: StagingStore, layouts: Iterable[StagingLayout], run: RunStatus) -> tuple[TaskStatus, ...]:
    """Return the unfinished tasks of a run, and the finished ones whose lost rows these read."""
    again = set(unfinished(run))
    for layout in layouts:
        identity = layout.identity
        own = {
            name: task
            for task in run.tasks
            if task.map_index in (identity.map_index, NOT_MAPPED)
            and (name := identity.task_name(task.task_id)) is not None
        }
        names = {name for name, task in own.items() if task in again}
        again |= {own[name] for name in _lost(store, layout, names) if name in own}
    return tuple(task for task in run.tasks if task in again)


def _lost(store: StagingStore, layout: StagingLayout, names: Collection[TaskName]) -> frozenset[TaskName]:
    """Return the tasks whose results are lost and read by tasks that run again, or by such tasks themselves."""
    if not names:
        return frozenset()
    run = survey_run(store, layout)
    task_of = {region_id: task_names(store, layout, [region_id])[0] for region_id in regions_of(store, layout)}
    lost = [result for result in run.results if _is_lost(run, result)]
    again = set(names)

    def is_read_again(consumer: RegionId) -> bool:
        return task_of.get(consumer) is None or task_of[consumer] in again

    while True:
        found = {
            task_of[result.owner]
            for result in lost
            if result.owner in task_of and any(map(is_read_again, result.consumers))
        }
        if found <= again:
            return frozenset(chain(again)) - frozenset(names)
        again |= found


def _is_lost(run: StagedRun, result: ResultFolder) -> bool:
    """Whether the data of a result's last epoch is gone, and no rule of this program has removed it."""
    if not result.epochs:
        return False
    last = result.epochs[-1]
    is_there = any(
        folder.owner == result.id and folder.name == last.folder and folder.bytes >= last.bytes for folder in run.data
    )
    return last.released is None and not is_there
