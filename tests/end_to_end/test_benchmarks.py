"""Every part of `make bench` runs at its smallest size, so that it keeps working."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import ROOT

pytestmark = pytest.mark.e2e


def measured(folder: Path, *parts: str) -> dict[str, Any]:
    """Return what `python -m benchmarks` writes for these parts."""
    words = ("--rounds", "1", "--orders", "8000", "--results", str(folder), "--only", *parts)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = {part: json.loads((folder / f"{part}.json").read_text()) for part in parts}
    assert all(part["conditions"]["commit"] for part in found.values())
    return found


def applications(part: dict[str, Any]) -> dict[str, int]:
    return {run["variant"]: run["applications"] for run in part["runs"]}


@pytest.mark.long
def test_all_ways_to_run_the_14_steps_give_the_same_rows(tmp_path: Path) -> None:
    found = measured(tmp_path, "start", "fourteen")
    assert applications(found["start"]) == {"start": 1, "start-tuned": 1}
    assert applications(found["fourteen"]) == {
        "hand": 1,
        "functions": 1,
        "declared": 1,
        "declared-same-task": 1,
        "declared-apart": 4,
        "spark-pipelines": 1,
        "declared-staged": 9,
        "hand-steps": 14,
    }


@pytest.mark.long
def test_readers_retries_and_subplans_are_measured(tmp_path: Path) -> None:
    found = measured(tmp_path, "six", "retry", "subplans")
    assert applications(found["six"]) == {"six-before": 7, "six-apart": 7, "six": 2}
    assert set(applications(found["retry"]).values()) == {1}
    assert set(applications(found["subplans"]).values()) == {1}


@pytest.mark.long
def test_a_staged_result_is_measured_with_its_checksum_and_without(tmp_path: Path) -> None:
    assert set(measured(tmp_path, "checksum")["checksum"]["costs"]) == {"copied", "enriched"}


@pytest.mark.long
def test_reading_is_measured_strictly_and_as_before(tmp_path: Path) -> None:
    costs = measured(tmp_path, "strict")["strict"]["costs"]
    assert set(costs) == {"texts", "integers", "decimal", "moments", "all", "parquet", "wide"}
    assert all(len(cost["strict"]) == len(cost["lenient"]) for cost in costs.values())


@pytest.mark.long
def test_parsing_is_measured(tmp_path: Path) -> None:
    found = measured(tmp_path, "parse")["parse"]
    assert "dags/flights.py" in found["seconds"]
    assert all(of["50"][0] > 0 for of in found["many"].values())


@pytest.mark.long
def test_the_command_line_is_measured(tmp_path: Path) -> None:
    assert "test_start" in measured(tmp_path, "command-line")["command-line"]["seconds"]


@pytest.mark.ci
def test_compiling_is_measured(tmp_path: Path) -> None:
    assert "test_describe_regions[10]" in measured(tmp_path, "compile")["compile"]["seconds"]


@pytest.mark.browser
def test_the_first_paint_is_measured(tmp_path: Path) -> None:
    assert len(measured(tmp_path, "view")["view"]["plans"]) == 3
