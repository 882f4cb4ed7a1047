"""The benchmarks of docs/benchmarks.md run at their smallest size, so that they keep working."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT

pytestmark = pytest.mark.e2e
WORDS = ("--rounds", "1", "--orders", "8000", "--variants", "hand", "declared")


def called(*words: str) -> str:
    """Return what `python -m …` prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_peers_are_compared(tmp_path: Path) -> None:
    """It is called by `make bench-peers`."""
    results = tmp_path / "peers.json"
    called("benchmarks.peers.compare", *WORDS, "--json", str(results))
    runs = {run["variant"]: run["applications"] for run in json.loads(results.read_text())["runs"]}
    assert runs == {"start": 1, "hand": 1, "declared": 1}


@pytest.mark.long
def test_a_staged_result_is_measured_with_its_checksum_and_without() -> None:
    assert "copied" in called("benchmarks.staging_checksum", "--rounds", "1", "--orders", "8000")


@pytest.mark.long
def test_parsing_is_measured() -> None:
    assert "dags/flights.py" in called("benchmarks.parse_cost", "--rounds", "1")


def test_compiling_is_measured() -> None:
    """What `make bench` calls, each once, but for thousands of operators."""
    assert " passed" in called("pytest", "benchmarks", "-q", "--benchmark-disable", "-k", "not 000")


@pytest.mark.browser
def test_the_first_paint_is_measured() -> None:
    assert "first paint" in called("benchmarks.first_paint", "--rounds", "1")
