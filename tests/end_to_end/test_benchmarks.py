"""The benchmark of docs/benchmarks.md runs as it is written down there: what nobody runs rots."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT

pytestmark = pytest.mark.e2e
WORDS = ("--rounds", "1", "--orders", "8000", "--variants", "hand", "declared")


def test_peers_are_compared(tmp_path: Path) -> None:
    results = tmp_path / "peers.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers.compare", *WORDS, "--json", str(results)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    runs = {run["variant"]: run["applications"] for run in json.loads(results.read_text())["runs"]}
    assert runs == {"start": 1, "hand": 1, "declared": 1}
