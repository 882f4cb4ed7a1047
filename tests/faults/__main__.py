"""Break real runs, and check that nothing is lost or doubled: `python -m tests.faults`.

A command, not a test: it takes an hour, and a second call continues where the first was stopped. Its folder keeps a
line for each finished case, the table, Airflow's home, and each case's targets and staged data.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from tests.end_to_end.conftest import ROOT, Home
from tests.faults.cases import Case, all_cases
from tests.faults.facts import NO_FACTS, outcome, problems
from tests.faults.payment_runs import PaymentRuns
from tests.faults.places.outages import own_file_system
from tests.faults.places.place import OnDisk, Place, in_bucket, in_hdfs
from tests.faults.plan import FOLDER, OUTAGES, Where
from tests.faults.results import Result, Results
from tests.faults.trial import Trial
from tests.faults.workloads import PAYMENTS, SHARED_TARGET, WORKLOADS, Workload
from tests.harness.standalone import Api, standalone

_DAG_FILE = '''"""An airflow dag of {module}, tried again at once."""
from datetime import UTC, datetime, timedelta

from graph_compiler.airflow_backend import build_dag
from {module} import env

retries = {{"retries": 3, "retry_delay": timedelta(seconds=1)}}
dag = build_dag(env, schedule={schedule!r}, start_date=datetime(2013, 1, 1), default_args=retries)
dag.end_date = {end}
dag.max_active_tasks = {tasks}
dag.max_active_runs = 32
'''


def main() -> int:
    """Run the remaining cases; return the number of cases with problems, at most 99."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started and mounted is taken away
    folder = arguments.state.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder)
    done = results.load()
    cases = all_cases(arguments.seed, arguments.place)
    cases = tuple(case for case in cases if re.search(arguments.only, case.id))
    todo = [case for case in cases if case.id not in done or (arguments.again and done[case.id].problems)]
    print(f"{len(cases)} cases, {len(cases) - len(todo)} are done already", flush=True)
    if arguments.list:
        print(*(case.id for case in todo), sep="\n")
    elif todo and arguments.place is Where.DISK:
        _run_on_disk(todo, OnDisk(folder), results)
    elif todo:
        with (in_bucket if arguments.place is Where.BUCKET else in_hdfs)(folder) as place:
            _run(todo, place, results)
    found = results.load()
    return min(99, sum(bool(found[case.id].problems) for case in cases if case.id in found))


def _run_on_disk(todo: list[Case], place: OnDisk, results: Results) -> None:
    with own_file_system(Path(place.root)) as mounted:
        if not mounted:
            todo = [case for case in todo if case.fault not in OUTAGES]
            print("cases that unmount the staging root are left out: they need root", flush=True)
        _run(todo, place, results)


def _run(todo: list[Case], place: Place, results: Results) -> None:
    folder = place.folder
    home = Home(folder / "home")
    for needed in (home.folder, folder / "plans", folder / "runs"):
        needed.mkdir(exist_ok=True)
    for workload in WORKLOADS.values():
        workload.make_input(folder / "input" / workload.name)
    place.push(folder / "input")
    dags = {name: _dag_file(one) for name, one in WORKLOADS.items()}
    environment = partial(_environment, home, place)
    with standalone(environment, folder, dags) as api:
        _end_unfinished(api)
        collect_garbage = partial(_gc, home, environment)
        _run_cases(todo, partial(_carry_out, api, place, collect_garbage), results)
    print(results.table.read_text())


def _dag_file(workload: Workload) -> str:
    many_runs = workload in (SHARED_TARGET, PAYMENTS)
    return _DAG_FILE.format(
        module=workload.module,
        # What is backfilled must have a schedule, and must not start runs by itself.
        schedule="@daily" if many_runs else None,
        end="datetime(2013, 2, 1, tzinfo=UTC)" if many_runs else None,
        tasks=3 if workload is SHARED_TARGET else 1,
    )


def _gc(home: Home, environment: Callable[[], dict[str, str]]) -> None:
    """Run `staging gc` for everything older than a second, with access to Airflow."""
    words = ("staging", "gc", "--older-than", "1 s")
    done = home.cli(*words, environment=environment())
    print(done.stdout, flush=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _run_cases(todo: list[Case], carry_out: Callable[[Case], Result], results: Results) -> None:
    for number, case in enumerate(todo, start=1):
        print(f"[{number}/{len(todo)}] {case.id}", flush=True)
        result = carry_out(case)
        results.add(result)
        words = "; ".join(result.problems) or "as it must be"
        print(f"  {result.outcome}, {result.seconds:.0f} s: {words}", flush=True)


def _carry_out(api: Api, place: Place, collect_garbage: Callable[[], None], case: Case) -> Result:
    run_id, folder = f"{case.id}.{int(time.time())}", place.folder
    remembers = WORKLOADS[case.workload].remembers
    trial = (PaymentRuns if remembers else Trial)(
        api=api,
        case=case,
        run_id=run_id,
        output=folder / "runs" / run_id,
        input=folder / "input" / case.workload / (run_id if remembers else ""),
        place=place,
        layout=StagingLayout(root=place.root, identity=RunIdentity.own(case.workload, run_id)),
        plans=folder / "plans",
        collect_garbage=collect_garbage,
    )
    try:
        facts, seconds = trial.carry_out()
    except (AssertionError, OSError) as error:  # Airflow does not answer, or refuses: the next case may fare better
        facts, seconds = NO_FACTS, 0.0
        found: tuple[str, ...] = (f"the harness could not go on: {error}",)
    else:
        found = tuple(problems(case, facts))
    return Result(
        case=case.id,
        workload=case.workload,
        fault=case.fault,
        point=case.point,
        region=case.region,
        lost=case.lost,
        run_id=run_id,
        seconds=round(seconds, 1),
        outcome=outcome(facts),
        rerun=facts.rerun,
        recomputed=facts.recomputed,
        beside=facts.beside,
        problems=found,
    )


def _end_unfinished(api: Api) -> None:
    """Fail the runs of a harness that was stopped; their cases run again."""
    for workload in WORKLOADS:
        path = f"/api/v2/dags/{workload}/dagRuns"
        for state in ("queued", "running"):
            for run in api.call("GET", f"{path}?state={state}")["dag_runs"]:
                api.call("PATCH", f"{path}/{run['dag_run_id']}", {"state": "failed"})


def _environment(home: Home, place: Place, **settings: str) -> dict[str, str]:
    """Return Airflow's environment: faults are armed in drivers, and a dead supervisor is noticed within seconds."""
    spark = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "3"}
    spark |= place.spark_settings()
    environment = home.environment(
        **settings,
        AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps(spark),
        AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT="15",
        AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL="2",
        AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL="2",
    )
    driver = str(ROOT / "tests" / "faults" / "driver")
    environment["PYTHONPATH"] = os.pathsep.join([driver, environment["PYTHONPATH"]])
    environment["XDG_CACHE_HOME"] = str(place.folder / "cache")
    environment |= place.environment()
    assert home.cli("warm", environment=environment).returncode == 0
    return environment | {FOLDER: str(place.folder / "plans")}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--state", type=Path, help="its folder: .faults, .faults-PLACE")
    parser.add_argument("--seed", type=int, default=1, help="chooses tasks, and the order of cases")
    parser.add_argument("--only", default="", help="cases whose name matches this pattern")
    parser.add_argument("--place", type=Where, choices=[*Where], default=Where.DISK, help="where runs stage")
    parser.add_argument("--again", action="store_true", help="also those that had problems")
    parser.add_argument("--list", action="store_true", help="name what is to do, and end")
    found = parser.parse_args()
    if found.state is None:
        found.state = ROOT / (".faults" if found.place is Where.DISK else f".faults-{found.place}")
    return found


if __name__ == "__main__":
    sys.exit(main())
