"""CPU time of the command line in a separate process: `validate` in a commit hook, `explain` of something large."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


pytestmark = pytest.mark.benchmark(timer=children_cpu)
PLUGINS = Path(__file__).parents[1] / "plugins"
HEAD = """
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("{name}", params={{"least": 5}})
stream = env.from_source(Csv("/in/{name}.csv"), "rows")
"""
STEP = 'stream = stream.filter("x > :least").name("step_{number}")\n'
KEYED = 'stream = stream.key_by("k").aggregate(x="max(x)", n="count(*)").name("step_{number}")\n'
END = 'stream.sink_to(Parquet("/out/{name}"))\n'


def command(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graph_compiler", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(PLUGINS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def measure(benchmark: BenchmarkFixture, *arguments: Path | str) -> None:
    # Calibrating asks for the clock's precision, and this one stands still while no child ends.
    benchmark.pedantic(command, args=arguments, rounds=5)  # type: ignore[no-untyped-call]


def declare(folder: Path, name: str, operators: int) -> None:
    """Write a pipeline with a shuffle at every fifth operator."""
    steps = ((KEYED if number % 5 == 0 else STEP).format(number=number) for number in range(1, operators - 1))
    text = HEAD.format(name=name) + "".join(steps) + END.format(name=name)
    (folder / "pipelines").mkdir(exist_ok=True)
    (folder / "pipelines" / f"{name}.py").write_text(text)


def test_start(tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    declare(tmp_path, "small", 3)
    measure(benchmark, tmp_path, "validate")


def test_validate_100_pipelines_of_20_operators(tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    for number in range(100):
        declare(tmp_path, f"pipeline_{number}", 20)
    measure(benchmark, tmp_path, "validate")


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--json",
        "--graph stream",
        "--graph job --format json",
        "--graph execution",
        "--format mermaid",
        "--format flink",
    ],
)
def test_explain_1000_operators(options: str, tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    declare(tmp_path, "large", 1_000)
    measure(benchmark, tmp_path, "explain", "large", *options.split())


def test_diff(tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    declare(tmp_path, "large", 1_000)
    declare(tmp_path, "larger", 1_010)
    measure(benchmark, tmp_path, "diff", "large", "larger")
