"""Arm a Spark driver, before its first line runs."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.deployment.documents.staging_layout import DRIVER
from graph_compiler.staging.store.staging_store import StagingStore
from tests.faults.actions import act, processes
from tests.faults.places.file_points import FilePoints, watch_partitions
from tests.faults.places.place import store_of
from tests.faults.plan import FOLDER, Plan, Point, driver_path, firing_path, plan_path


def arm(descriptor: str) -> None:
    """Arm the fault that is planned for the run and region of a descriptor, if it has not happened yet."""
    store = store_of(descriptor)
    document = json.loads(store.get(descriptor) or b"")
    run_id = document["identity"]["run_id"]
    folder = Path(os.environ[FOLDER])
    planned = plan_path(folder, run_id)
    if not planned.exists() or firing_path(folder, run_id).exists():
        return
    plan = Plan.from_json(planned.read_text())
    if plan.region != document["region"]["region_id"]:
        return
    run = descriptor.rsplit("/", 4)[0]
    fire = partial(_fire, plan, run, store, firing_path(folder, run_id))
    if plan.point is Point.BEFORE_WORK:
        fire()
    elif plan.point is Point.SPARK_UP:
        _when_spark_is_up(fire)
    elif local_path(run) is None:
        driver_path(folder, run_id).write_text(processes().to_json())
    else:
        _watch(plan, Path(run), fire, since=Path(descriptor).with_name(DRIVER))


def _watch(plan: Plan, run: Path, fire: partial[None], *, since: Path) -> None:
    """Fire when files of a run show that it is at the point, after `since`, which is written in the region's turn."""
    output = Path(plan.output)
    if plan.point is Point.WHILE_WRITING:
        watch_partitions((run / "data", output), fire, since=since)
    else:
        sys.addaudithook(FilePoints(plan.point, run, output, fire, since=since))


def _fire(plan: Plan, run: str, store: StagingStore, fired: Path) -> None:
    """Act once in a run, whatever other process reaches the point."""
    firing = processes()
    try:
        with fired.open("x") as file:
            file.write(firing.to_json())
    except FileExistsError:
        return
    print(f"fault harness: {plan.fault}, {plan.point}", file=sys.stderr, flush=True)
    act(plan, run, store, firing)


def _when_spark_is_up(fire: partial[None]) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder
    start = builder.getOrCreate

    def start_and_fire(self: SparkSession.Builder) -> SparkSession:
        session = start(self)
        builder.getOrCreate = start  # type: ignore[method-assign]
        fire()
        return session

    builder.getOrCreate = start_and_fire  # type: ignore[method-assign]
