"""What each way of running a pipeline submits to Spark, in order: [script, argument, …] for each application."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from benchmarks.peers import declared_pipeline, pipeline_of_functions, readers_pipeline, steps
from benchmarks.peers.declared_pipeline import Cuts
from benchmarks.peers.deployed import MEMORY, Application, Deployed, tuned
from graph_compiler import StreamExecutionEnvironment
from graph_compiler.deployment.documents.jvm_settings import SESSION

HERE = Path(__file__).parent
PROGRAMS = Path(sys.executable).parent
MASTER = "local[2]"
SETTINGS = (
    *("--driver-memory", MEMORY),
    *("--conf", "spark.ui.enabled=false"),
    *("--conf", "spark.sql.shuffle.partitions=8"),
)
PIPELINES = "spark-pipelines"
"""The program of Spark Declarative Pipelines."""

SAME_TASK = Cuts(is_staged=True, same_task=True)
APART = Cuts(is_staged=True)
ONE_TASK_A_REGION = {"execution.task-sharing": "false"}
NOT_SHARED = {"execution.shared-results": "false"}
EVERY_EXCHANGE = {"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"}


Applications: TypeAlias = Callable[[Path, Path], list[Application]]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of running a pipeline: what it is, for people, and what it submits.

    `applications` takes the input's folder and an empty folder to work in; it may do work that is not measured.
    `sinks` is the number of tables that are written.
    """

    words: str
    applications: Applications
    sinks: int = 3


def command(application: Application, *before: str) -> list[str]:
    """Return what is started; `before` is a script with arguments that runs the application's script."""
    program, *words = application
    if program == PIPELINES:
        return [str(PROGRAMS / PIPELINES), *words, "--remote", MASTER, *SETTINGS]
    script = next(index for index, word in enumerate(application) if word.endswith(".py"))
    submit = [str(PROGRAMS / "spark-submit"), "--master", MASTER, *SETTINGS]
    return [*submit, *application[:script], *before, *application[script:]]


def _start(_data: Path, _work: Path) -> list[Application]:
    return [[str(HERE / "empty_app.py")]]


def _tuned_start(data: Path, work: Path) -> list[Application]:
    del work
    return [[*tuned(data), str(HERE / "empty_task.py")]]


def _by_hand(_data: Path, work: Path, *words: str) -> list[Application]:
    return [[str(HERE / "single_app.py"), str(work / "out"), *words]]


def _by_hand_pinned(data: Path, work: Path) -> list[Application]:
    conf = [word for key, value in SESSION.items() for word in ("--conf", f"{key}={value}")]
    return [conf + application for application in _by_hand(data, work)]


def _readers_by_hand(_data: Path, work: Path, readers: int, way: str = "again") -> list[Application]:
    return [[str(HERE / "readers_app.py"), str(work / "out"), str(readers), way]]


def _tuned(applications: Applications, data: Path, work: Path) -> list[Application]:
    return [tuned(data) + application for application in applications(data, work)]


def _sorted(applications: Applications, data: Path, work: Path) -> list[Application]:
    return [SORTED + application for application in applications(data, work)]


def _declarative(_data: Path, work: Path) -> list[Application]:
    datasets = work / "datasets"
    datasets.mkdir()
    shutil.copy(HERE / "declarative_datasets.py", datasets)
    spec = {
        "name": "peers",
        "storage": (work / "storage").as_uri(),
        "libraries": [{"glob": {"include": "datasets/**"}}],
    }
    (work / "spark-pipeline.yml").write_text(json.dumps(spec))  # JSON is YAML
    warehouse = f"spark.sql.warehouse.dir={work / 'out'}"
    return [[PIPELINES, "run", "--spec", str(work / "spark-pipeline.yml"), "--conf", warehouse]]


def _step_by_step(_data: Path, work: Path) -> list[Application]:
    return [[str(HERE / "step_app.py"), name, str(work / "staging"), str(work / "out")] for name in steps.STEPS]


def _compiled(
    env: StreamExecutionEnvironment, options: Mapping[str, str], data: Path, work: Path, *, is_tuned: bool = True
) -> list[Application]:
    return Deployed.of(env, data, work, options).applications(is_tuned=is_tuned)


def _retried(env: StreamExecutionEnvironment, data: Path, work: Path) -> list[Application]:
    """Return the second try of a task whose first died in its last region."""
    first = Deployed.of(env, data, work, {})
    (application,) = first.applications()
    first.fail_in_last_region(command(application))
    return first.tried(2).applications()


READERS = (4, 8)
"""Numbers of reports."""
SORTED = ["--conf", "spark.sql.autoBroadcastJoinThreshold=-1"]
"""Joins move and sort both inputs, as those of large tables do."""


def _readers(readers: int) -> dict[str, Variant]:
    """Return the ways to compute what several reports read."""
    of = partial(readers_pipeline.declare, readers)
    by_hand = partial(_readers_by_hand, readers=readers)
    again, once = partial(_compiled, of(Cuts()), NOT_SHARED), partial(_compiled, of(Cuts()), {})
    found = {
        "hand": Variant(f"by hand, {readers} reports", by_hand),
        "hand-tuned": Variant(f"by hand, {readers} reports, our JVM settings", partial(_tuned, by_hand)),
        "persist": Variant(f"by hand, {readers} reports, their columns persisted", partial(by_hand, way="persist")),
        "again": Variant(f"compiled, {readers} reports, computed for each", again),
        "once": Variant(f"compiled, {readers} reports, computed once", once),
        "hand-sorted": Variant(f"by hand, {readers} reports, sort-merge joins", partial(_sorted, by_hand)),
        "again-sorted": Variant(
            f"compiled, {readers} reports, sort-merge joins, computed for each", partial(_sorted, again)
        ),
        "once-sorted": Variant(f"compiled, {readers} reports, sort-merge joins, computed once", partial(_sorted, once)),
    }
    return {f"{readers}-{name}": replace(variant, sinks=readers) for name, variant in found.items()}


FOURTEEN = declared_pipeline.declare
SIX = readers_pipeline.declare(6, APART)
VARIANTS: Mapping[str, Variant] = {
    "start": Variant("plain spark-submit", _start, sinks=0),
    "start-tuned": Variant("a task's driver", _tuned_start, sinks=0),
    "hand": Variant("by hand, one application", _by_hand),
    "hand-pinned": Variant("by hand, our session settings", _by_hand_pinned),
    "hand-persist": Variant("by hand, fan-outs persisted", lambda data, work: _by_hand(data, work, "persist")),
    "hand-steps": Variant("by hand, one task a step", _step_by_step),
    "spark-pipelines": Variant("Spark Declarative Pipelines", _declarative),
    "functions": Variant("compiled, from functions", partial(_compiled, pipeline_of_functions.env, {})),
    "declared": Variant("compiled, one task", partial(_compiled, FOURTEEN(Cuts()), {})),
    "declared-same-task": Variant("compiled, staged in the same task", partial(_compiled, FOURTEEN(SAME_TASK), {})),
    "declared-apart": Variant("compiled, staged for other tasks", partial(_compiled, FOURTEEN(APART), {})),
    "declared-staged": Variant(
        "compiled, staged at each exchange", partial(_compiled, FOURTEEN(Cuts()), EVERY_EXCHANGE)
    ),
    "retried": Variant("its retry after a late failure", partial(_retried, FOURTEEN(SAME_TASK))),
    "six-before": Variant(
        "a task for each region, drivers not tuned", partial(_compiled, SIX, ONE_TASK_A_REGION, is_tuned=False), sinks=6
    ),
    "six-apart": Variant("a task for each region", partial(_compiled, SIX, ONE_TASK_A_REGION), sinks=6),
    "six": Variant("as compiled", partial(_compiled, SIX, {}), sinks=6),
    **{name: variant for readers in READERS for name, variant in _readers(readers).items()},
}
