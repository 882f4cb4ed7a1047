"""Whatever a function does to its driver, a failed run never looks like a success."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from pyspark.sql import DataFrame

import graph_compiler
from graph_compiler import FunctionSource, Parquet, SlotSharingGroup, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport, Failure, ThrowableType
from graph_compiler.spark_runtime.failures.failures import LONGEST_MESSAGE
from graph_compiler.testing.pytest_plugin import SHORT_LIVED
from tests.conftest import mark
from tests.harness.reference import published
from tests.spark import ending_functions, user_functions
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]
Function = Callable[[DataFrame], DataFrame]
ROOT = Path(__file__).parents[3]
DRIVER = Path(graph_compiler.__file__).parent / "spark_runtime" / "main.py"


def with_function(function: Function, folder: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Values([(1,), (2,)], "x INT"), "in")
    rows.transform(function).name("bad").sink_to(Parquet(f"{folder}/out")).name("out")
    return env


def failure_of(function: Function, run_pipeline: RunPipeline, folder: Path) -> Failure:
    failure = run_pipeline(with_function(function, folder).pipeline())[-1].failure
    assert failure is not None
    assert not (folder / "out").exists()
    return failure


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (ending_functions.exits, "sys.exit(0)"),
        (ending_functions.exits_with_words, "sys.exit(there is nothing to do today)"),
        (ending_functions.exits_in_a_worker, "sys.exit(0)"),
        (ending_functions.exits_in_a_batch, "sys.exit(0)"),
    ],
)
def test_ending_the_program_is_a_permanent_failure(
    function: Function, words: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of(function, run_pipeline, tmp_path)
    assert failure.operator == "bad"
    assert f"its function ended the program, as {words} does" in failure.message
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR


def test_a_source_that_ends_the_program_is_blamed(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    source = FunctionSource(ending_functions.exits_as_a_source)
    env.from_source(source, "in").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.operator == "in"
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR


def test_base_exceptions_are_reported(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    failure = failure_of(ending_functions.raises_unlike, run_pipeline, tmp_path)
    assert "Unlike: no Exception" in failure.message
    assert failure.throwable_type is ThrowableType.RECOVERABLE_ERROR


def test_an_interrupt_leaves_a_report_and_stays_an_interrupt(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = with_function(ending_functions.is_interrupted, tmp_path)
    with pytest.raises(BaseException) as raised:  # noqa: PT011  # an operator's, caused by it
        run_pipeline(env.pipeline())
    assert isinstance(raised.value.__cause__, KeyboardInterrupt)
    (report,) = tmp_path.glob("staging/p/run/tasks/*/*/report.json")
    assert "KeyboardInterrupt" in report.read_text()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (ending_functions.recurses, "RecursionError: maximum recursion depth exceeded"),
        (ending_functions.nests_an_expression, "StackOverflowError"),
    ],
)
def test_infinite_recursion_fails_without_retry(
    function: Function, words: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of(function, run_pipeline, tmp_path)
    assert words in failure.message
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR


def test_a_worker_that_exits_is_lost_and_retried(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    failure = failure_of(user_functions.kills_its_worker, run_pipeline, tmp_path)
    assert failure.throwable_type is ThrowableType.ENVIRONMENT_ERROR


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (ending_functions.is_killed_for_its_memory, "a Python worker died without a report: it used up the memory"),
        (ending_functions.hoards_as_numpy, "MemoryError: Unable to allocate 8.00 PiB"),
    ],
)  # fmt: skip
def test_a_worker_out_of_memory_names_its_operator_and_is_retried(
    function: Function, words: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of(function, run_pipeline, tmp_path)
    assert failure.operator == "bad"
    assert words in failure.message
    assert "hint: spark.executor.pyspark.memory, in the conf of its slot sharing group" in failure.message
    assert failure.throwable_type is ThrowableType.ENVIRONMENT_ERROR


def test_a_message_of_any_length_is_cut(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    failure = failure_of(ending_functions.says_much, run_pipeline, tmp_path)
    assert len(failure.message) < LONGEST_MESSAGE + 100
    assert failure.message.endswith("more characters")


def test_a_forked_child_does_not_become_a_second_driver(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = with_function(ending_functions.forks, tmp_path)
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None, report.failure
    assert sorted(published(tmp_path / "out")[1]) == [(1,), (2,)]


def driver(
    function: Function, folder: Path, conf: Mapping[str, str] = MappingProxyType({})
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run a pipeline's one task as spark-submit does: a process of its own."""
    (region,) = describe_regions(compile_pipeline(with_function(function, folder).pipeline()))
    run = DeskRun(day="2013-01-01", params={}, run_id="run", staging_root=str(folder / "staging"))
    task: TaskDeploymentDescriptor = desk_task(region, run, execution_id="e")
    mark(task)
    descriptor = Path(task.layout.descriptor(region.region_id, "e"))
    descriptor.parent.mkdir(parents=True)
    descriptor.write_text(task.to_json())
    settings = f"--master local[1] --conf spark.ui.enabled=false --driver-java-options '{SHORT_LIVED}'"
    settings += "".join(f" --conf {key}={value}" for key, value in conf.items())
    programs = folder / "bin"
    programs.mkdir()
    (programs / "python3").write_text("#!/bin/sh\nexit 1\n")  # Spark's own default is not used
    (programs / "python3").chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(descriptor)],
        env={
            **os.environ,
            "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell",
            "PYTHONPATH": f"{ROOT}:{ROOT}/plugins",
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done, descriptor.with_name("report.json")


def test_a_driver_whose_function_exits_with_0_exits_with_its_failures_code(tmp_path: Path) -> None:
    done, report = driver(ending_functions.exits, tmp_path)
    assert done.returncode == ThrowableType.NON_RECOVERABLE_ERROR.exit_code
    failure = ExecutionReport.from_json(report.read_text()).failure
    assert failure is not None
    assert failure.operator == "bad"


def test_workers_on_the_drivers_host_have_its_python(tmp_path: Path) -> None:
    done, _ = driver(ending_functions.copies_batches, tmp_path)
    assert done.returncode == 0, done.stderr[-5000:]
    assert sorted(published(tmp_path / "out")[1]) == [(1,), (2,)]


@pytest.mark.long  # a driver of its own
def test_a_workers_memory_is_limited_by_its_group(tmp_path: Path) -> None:
    group = SlotSharingGroup("g", conf={"spark.executor.pyspark.memory": "2g"})
    done, report = driver(ending_functions.hoards, tmp_path, group.settings())
    assert done.returncode == ThrowableType.ENVIRONMENT_ERROR.exit_code
    failure = ExecutionReport.from_json(report.read_text()).failure
    assert failure is not None
    assert failure.operator == "bad"
    first, hint, place, _ = failure.message.splitlines()
    assert first == "MemoryError: its Python worker has reached its memory limit"
    assert "spark.executor.pyspark.memory" in hint
    assert "ending_functions.py" in place
    assert not (tmp_path / "out").exists()


@pytest.mark.long  # 100 MB of output
def test_a_drivers_output_is_bounded_and_it_ends_with_its_work(tmp_path: Path) -> None:
    done, report = driver(ending_functions.prints_and_stays, tmp_path)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert ExecutionReport.from_json(report.read_text()).failure is None
    assert len(done.stdout) < 20_000_000
    assert "what else is printed is left out" in done.stdout
    assert "thread 'endless'" in done.stderr


def test_a_driver_that_ends_itself_leaves_no_report(tmp_path: Path) -> None:
    done, report = driver(ending_functions.ends_the_process, tmp_path)
    assert done.returncode == 0, "so its exit code says nothing: tests/airflow/test_driver_end.py"
    assert not report.exists()
