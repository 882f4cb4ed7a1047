"""Builders: small pipelines as values, and the flights pipeline with other options."""

import gc
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Pipeline
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.staging.attempts.run_marker import VERSION, RunMarker, mark_run
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.tested_versions import installed_version, minor_of
from tests.harness.flights_data import copy_january
from tests.harness.turns import left_to_others

pytest_plugins = ["graph_compiler.testing.pytest_plugin"]

# How long an example takes depends on the machine; benchmarks/ measures.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

SLOW_FIRST = ("e2e", "spark")
COLLECTED_AFTER = (50_000, 10, 10)
"""Objects, and passes: Python's own numbers for its garbage collector take a tenth of the quick tests' CPU."""
SHUFFLE_MODES = ("AUTO", "ALL_EXCHANGES_BLOCKING", "ALL_EXCHANGES_PIPELINED")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected texts in tests/golden")


def pytest_configure(config: pytest.Config) -> None:
    """Let Python collect more rarely, and pass over the sockets that `collect` of Spark 4.1 leaves open until then."""
    gc.set_threshold(*COLLECTED_AFTER)
    if minor_of(installed_version("pyspark") or "") == "4.1":  # 4.2 closes them
        for kind in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
            config.addinivalue_line("filterwarnings", f"ignore:.*socket:{kind}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases whose turn it is not, and start with slow tests: so all processes end at the same time."""
    if left := left_to_others(items):
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in SLOW_FIRST])


def pytest_collection_finish() -> None:
    """Leave all modules and tests out of each collection."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Collect all at the end: a library says what has leaked."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Escape half of a surrogate pair in a report, such as in a captured log: a process that sends it would die."""
    return _sendable((yield))


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _sendable(each) for key, each in value.items()}
    return type(value)(map(_sendable, value)) if isinstance(value, list | tuple) else value


@pytest.fixture(scope="session")
def no_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a value of XDG_CACHE_HOME without class archives: a file is where their folder would be."""
    folder = tmp_path_factory.mktemp("cache")
    (folder / "graph-compiler").touch()
    return folder


@pytest.fixture(scope="session", autouse=True)
def cache_home(no_cache: Path) -> Iterator[None]:
    """Neither use nor make a class archive, unless a test wants it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(no_cache))
        yield


@pytest.fixture(scope="session")
def january(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tables of the flights pipeline, of one month."""
    return copy_january(tmp_path_factory.mktemp("january"))


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment("sales")


@pytest.fixture
def compiled(env: StreamExecutionEnvironment) -> Callable[[], CompiledPipeline]:
    """Compile what `env` has declared so far."""
    return lambda: compile_pipeline(env.pipeline())


def with_options(pipeline: Pipeline, **options: str) -> Pipeline:
    """Return the pipeline with options; `_` in a key means `.` or `-`, as in Flink's key."""
    keys = {
        "shuffle_mode": "execution.batch-shuffle-mode",
        "release": "staging.release",
        "chaining": "pipeline.operator-chaining.enabled",
        "task_sharing": "execution.task-sharing",
    }
    return replace(pipeline, config=tuple((keys[key], value) for key, value in options.items()))


def mark(task: TaskDeploymentDescriptor) -> None:
    """Write a run's marker, as the Airflow task of its first region does."""
    marker = RunMarker(
        version=VERSION,
        root=task.staging_root,
        identity=task.identity,
        host="worker-1",
        time=0,
        plan_id=task.region.plan_id,
        ttl=task.region.retention.ttl,
    )
    mark_run(LocalStore(), marker)


def word_count() -> StreamExecutionEnvironment:
    """source → words → [hash] → counts → sink."""
    env = StreamExecutionEnvironment("word_count")
    env.from_source(Csv("/in/words.csv"), "lines").select("word").name("words").key_by("word").aggregate(
        n="count(*)"
    ).name("counts").sink_to(Parquet("/out/counts")).name("counts_out")
    return env


def staged_detour() -> StreamExecutionEnvironment:
    """A → join directly, and A → staged → C → join: the direct edge would close a cycle."""
    env = StreamExecutionEnvironment("staged_detour")
    a = env.from_source(Csv("/in/a.csv"), "a").filter("x > 0").name("A")
    c = a.stage("dear").key_by("x").aggregate(n="count(*)").name("C")
    a.join(c, on="x").name("B").sink_to(Parquet("/out/b")).name("out")
    return env


def expensive_and_checked() -> StreamExecutionEnvironment:
    """orders → scored (expensive) → amounts_hold (a contract that may fail) → clean → by day, and by user."""
    env = StreamExecutionEnvironment("expensive_and_checked")
    scored = env.from_source(Csv("/in/orders.csv"), "orders").sql("SELECT * FROM {input}")
    clean = (
        scored.name("scored")
        .expensive()
        .expect("amounts_hold", "amount >= 0", on_violation="fail")
        .select("day", "user", "amount")
        .name("clean")
    )
    for key in ("day", "user"):
        clean.key_by(key).aggregate(total="sum(amount)").name(f"total_{key}").sink_to(Parquet(f"/out/{key}")).name(
            f"by_{key}"
        )
    return env


def alternating_groups() -> StreamExecutionEnvironment:
    """A(g1) → B(g2) → C(g1), beside A → C."""
    env = StreamExecutionEnvironment("alternating_groups")
    a = env.from_source(Csv("/in/a.csv"), "A").slot_sharing_group("g1")
    b = a.filter("x > 0").name("B").slot_sharing_group("g2")
    a.join(b, on="x").name("C").slot_sharing_group("g1").sink_to(Parquet("/out/c")).name("out")
    return env
