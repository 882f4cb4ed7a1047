"""Make a fault happen inside its driver."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from graph_compiler.staging.store.staging_store import StagingStore
from tests.faults.places.outages import begin_outage
from tests.faults.plan import LOSSES, OUTAGES, Fault, Firing, Plan

_NOBODY = 65534
_FILE_SIZE_LIMIT = 1024  # less than any staged partition has
_SOME_MEMORY = 4 * 1024 * 1024  # less than the driver needs to go on
SIGNALS = {
    Fault.KILL_JVM: (signal.SIGKILL, ("jvm",)),
    Fault.KILL_DRIVER: (signal.SIGKILL, ("driver",)),
    Fault.KILL_RUNNER: (signal.SIGKILL, ("runner",)),
    Fault.KILL_SUPERVISOR: (signal.SIGKILL, ("supervisor",)),
    Fault.HANG_AND_WAKE: (signal.SIGSTOP, ("supervisor", "runner", "jvm", "driver")),
    Fault.HANG_AND_FAIL: (signal.SIGSTOP, ("jvm", "driver")),
    Fault.NEXT_RUN: (signal.SIGSTOP, ("jvm", "driver")),
    Fault.DELETED: (signal.SIGSTOP, ("jvm", "driver")),
}
"""The driver comes last: it is what sends them."""


def processes() -> Firing:
    """Return this driver and its parents: spark-submit's JVM, Airflow's task runner and its supervisor."""
    driver, jvm = os.getpid(), os.getppid()
    runner = _parent(jvm)
    supervisor = _parent(runner)
    pids = {"driver": driver, "jvm": jvm, "runner": runner, "supervisor": supervisor}
    return Firing(**pids, names={name: _command(pid) for name, pid in pids.items()})


def act(plan: Plan, run: str, store: StagingStore, firing: Firing) -> None:
    """Carry out the plan; some faults are an exception in the code at that point."""
    if plan.fault in LOSSES:
        for result_id in plan.lost:
            _damage(store, f"{run}/manifests/{result_id}", plan.fault)
        if plan.fault is Fault.LOSE_AND_CHANGE:
            _add_an_order(store, f"{plan.input}/orders.csv")
    elif plan.fault in SIGNALS:
        send_signals(plan.fault, firing)
    elif plan.fault in OUTAGES:
        begin_outage(plan.fault, Path(run).parents[1], firing.driver)
    elif plan.fault is Fault.STARTED_TWICE:
        _start_again()
    else:
        _deny(plan.fault, firing)


def send_signals(fault: Fault, firing: Firing) -> None:
    """Kill or stop processes of a driver."""
    signal_number, names = SIGNALS[fault]
    for name in names:
        os.kill(getattr(firing, name), signal_number)


def _start_again() -> None:
    """Start this process's program a second time, like a queue or supervisor that has lost its answer."""
    program, *arguments = sys.orig_argv
    main = next(place for place, word in enumerate(arguments) if word.endswith("main.py"))
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_GATEWAY")}
    subprocess.Popen(
        [str(Path(program).with_name("spark-submit")), "--master", "local[1]", *arguments[main:]],
        env=inherited | {"PYSPARK_PYTHON": program, "PYSPARK_DRIVER_PYTHON": program},
    )


def _deny(fault: Fault, firing: Firing) -> None:
    match fault:
        case Fault.FILE_SIZE_LIMIT:
            resource.prlimit(firing.jvm, resource.RLIMIT_FSIZE, (_FILE_SIZE_LIMIT, _FILE_SIZE_LIMIT))
        case Fault.NO_SPACE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        case Fault.NO_PERMISSION if os.geteuid() == 0:
            os.setegid(_NOBODY)
            os.seteuid(_NOBODY)
        case Fault.NO_PERMISSION | Fault.DENIED:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        case Fault.OUT_OF_MEMORY:
            _exhaust_heap()
        case Fault.DRIVER_MEMORY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + _SOME_MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        case _:
            raise AssertionError(f"nothing to do in a driver for {fault}")


def _damage(store: StagingStore, manifests: str, fault: Fault) -> None:
    """Damage the data of the newest epoch; the manifest stays."""
    newest = max(store.keys(manifests), key=lambda key: int(key.rpartition("/")[2].split(".")[0]))
    manifest = json.loads(store.get(newest) or b"")
    location = manifest["location"]
    if fault in (Fault.LOSE_FOLDER, Fault.LOSE_AND_CHANGE):
        assert store.delete(location)
        return
    names = [file["name"] for partition in manifest["partitions"] for file in partition["files"]]
    file = f"{location}/{names[-1]}"
    content = store.get(file) or b""
    assert store.delete(file)
    if fault is Fault.TRUNCATE:
        store.put(file, content[: len(content) // 2])


def _add_an_order(store: StagingStore, orders: str) -> None:
    """Add a row to the diamond's source, which passes every filter."""
    store.put(orders, (store.get(orders) or b"") + b"-2,7,950\n")


def _exhaust_heap() -> None:
    """Run a query that needs more memory than the JVM has, while the driver continues: Spark ends with it."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    # Of a column: of a constant the optimizer would ask, in the thread that answers the driver.
    query = session.range(1, 5).selectExpr("max(length(repeat(string(id), 2000000000)))")

    def run() -> None:
        with suppress(Exception):
            query.collect()

    threading.Thread(target=run, daemon=True).start()


def _parent(pid: int) -> int:
    # The command's name stands in parentheses and may hold anything.
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _command(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b" ".join(words).decode(errors="replace").strip()[:200]
