"""Spark's own event log of a running session, read by the tests themselves."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

Json = dict[str, Any]


@dataclass(slots=True)
class LoggedStage:
    """The successful tasks of a stage, by their number."""

    tasks: dict[int, Json] = field(default_factory=dict)

    def by_task(self, *path: str) -> dict[int, int]:
        """Return a metric of each task."""
        found = {}
        for number, metrics in self.tasks.items():
            value: Any = metrics
            for name in path:
                value = value.get(name, {})
            found[number] = value or 0
        return found

    def total(self, *path: str) -> int:
        """Return the sum of a metric."""
        return sum(self.by_task(*path).values())


@contextmanager
def event_log(spark: SparkSession, folder: Path) -> Iterator[dict[int, LoggedStage]]:
    """Log the events of the block; the stages by id are there after it."""
    jvm, context = spark._jvm, spark.sparkContext._jsc.sc()
    assert jvm is not None
    folder.mkdir()
    conf = context.conf().clone().set("spark.eventLog.compress", "false").set("spark.eventLog.rolling.enabled", "false")
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        "tested", jvm.scala.Option.empty(), jvm.java.net.URI(folder.as_uri()), conf
    )
    listener.start()
    context.addSparkListener(listener)
    stages: dict[int, LoggedStage] = defaultdict(LoggedStage)
    try:
        yield stages
    finally:
        context.listenerBus().waitUntilEmpty(60_000)
        context.removeSparkListener(listener)
        listener.stop()
    (log,) = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd" and event["Task End Reason"]["Reason"] == "Success":
            stages[event["Stage ID"]].tasks[event["Task Info"]["Index"]] = event["Task Metrics"]
