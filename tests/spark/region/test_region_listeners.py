"""Listeners of other packages: what they learn of a region, and that none of them can fail one or hold it up."""

import logging
import sys
import threading
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Parquet, StreamExecutionEnvironment, Values, extensions, program_log
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.coordination import LISTENERS, EventOutput, RegionEvent, RegionEventKind, RegionListener
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.in_process_run import InProcessRequest
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.spark_runtime.in_process import run_regions_of
from graph_compiler.spark_runtime.region.region_listeners import Listeners
from graph_compiler.spark_runtime.region.seams import Seams

pytestmark = pytest.mark.spark


class Collector(RegionListener):
    """Keeps events, and does something for each."""

    def __init__(self, act: Callable[[RegionEvent], object] = lambda _: None) -> None:
        self.events: list[RegionEvent] = []
        self.act = act

    def on_event(self, event: RegionEvent) -> None:
        self.events.append(event)
        self.act(event)

    @property
    def kinds(self) -> list[str]:
        return [f"{event.region} {event.kind}" for event in self.events]


def fail(_: RegionEvent) -> None:
    raise ValueError("the catalog is down")


USABLE = Collector()
FAILING = Collector(fail)
NOT_ONE = "a text"
BREAKING: dict[str, Callable[[RegionEvent], object]] = {
    "an exception": fail,
    "an exit": lambda _: sys.exit(3),
    "an interrupt": lambda _: (_ for _ in ()).throw(KeyboardInterrupt()),
}


def tasks(tmp_path: Path, condition: str = "v > 0") -> tuple[TaskDeploymentDescriptor, ...]:
    """in → cut ─staged─▶ kept → sink out."""
    env = StreamExecutionEnvironment("audited")
    values = env.from_source(Values([("a", 1), ("b", 2)], "k STRING, v INT"), "in").filter("true").name("cut")
    values.stage("a cut").filter(condition).name("kept").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    run = DeskRun(day="2013-01-01", params={}, run_id="r", staging_root=str(tmp_path / "staging"))
    regions = describe_regions(compile_pipeline(env.pipeline()))
    return tuple(desk_task(region, run, execution_id=f"e-{n}") for n, region in enumerate(regions))


def run(listeners: Listeners, spark: SparkSession, tmp_path: Path, condition: str = "v > 0") -> ExecutionReport:
    request = InProcessRequest(tasks=tasks(tmp_path, condition), preview=None)
    return run_regions_of(request, spark, Seams(notify=listeners.notify))


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger(program_log.NAME), "propagate", True)
    return caplog


def test_a_listener_is_notified_of_each_step_in_order(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[bool] = []
    other = Collector(lambda _: seen.append((tmp_path / "out").exists()))
    assert run(Listeners({"other": other}, patience=600), spark, tmp_path).failure is None
    assert other.kinds == [
        *("cut STARTED", "cut COMMITTED", "cut FINISHED"),
        *("out STARTED", "out PUBLISHING", "out PUBLISHED", "out FINISHED"),
    ]
    by_kind = {event.kind: event for event in other.events}
    assert by_kind[RegionEventKind.PUBLISHING].outputs == (EventOutput(name="out", rows=2),)
    (published,) = by_kind[RegionEventKind.PUBLISHED].outputs
    assert (published.name, published.rows) == ("out", 2)
    assert str(tmp_path) in str(published.location)
    assert by_kind[RegionEventKind.COMMITTED].outputs[0].rows == 2
    assert {(event.pipeline, event.run_id, event.attempt) for event in other.events} == {("audited", "r", 1)}
    assert [event.execution_id for event in other.events] == [*("e-0",) * 3, *("e-1",) * 4]
    assert seen == [*(False,) * 5, True, True], "nobody sees the rows while PUBLISHING is handled"


def test_the_event_of_a_failure_has_the_message_of_its_report(spark: SparkSession, tmp_path: Path) -> None:
    other = Collector()
    report = run(Listeners({"other": other}, patience=600), spark, tmp_path, "raise_error('broken') IS NULL")
    assert report.failure is not None
    assert other.kinds[3:] == ["out STARTED", "out FAILED"]
    assert other.events[-1].reason == report.failure.message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("act", BREAKING.values(), ids=BREAKING)
def test_a_listener_that_breaks_fails_nothing(
    act: Callable[[RegionEvent], object], spark: SparkSession, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    broken, other = Collector(act), Collector()
    assert run(Listeners({"broken": broken, "other": other}, patience=600), spark, tmp_path).failure is None
    assert broken.kinds == other.kinds
    assert len(other.kinds) == 7
    assert spark.read.parquet(f"{tmp_path}/out").count() == 2
    assert sum("listener 'broken' failed" in record.getMessage() for record in log.records) == 7


def test_a_listener_that_hangs_is_left_out(spark: SparkSession, tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    never = threading.Event()
    hangs, other = Collector(lambda _: never.wait()), Collector()
    try:
        assert run(Listeners({"hangs": hangs, "other": other}, patience=0.0), spark, tmp_path).failure is None
    finally:
        never.set()
    assert len(hangs.kinds) <= 1
    assert any("it is not notified any more" in record.getMessage() for record in log.records)
    assert spark.read.parquet(f"{tmp_path}/out").count() == 2


def test_registered_listeners_are_found_and_the_others_left_out(
    monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
) -> None:
    named = {"other": "USABLE", "not_one": "NOT_ONE", "gone": "GONE", "failing": "FAILING"}
    entries = tuple(
        EntryPoint(name=name, value=f"{__name__}:{value}", group=LISTENERS) for name, value in named.items()
    )
    monkeypatch.setattr(extensions, "_registered", lambda group: entries * (group == LISTENERS))
    assert Listeners.installed().known == {"other": USABLE, "failing": FAILING}
    warned = [record.getMessage() for record in log.records]
    assert [("'not_one'" in words, "'gone'" in words) for words in warned] == [(True, False), (False, True)]
