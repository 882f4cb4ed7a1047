"""What `make bench` measures, part by part; each part can be measured alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks import first_paint, parse_cost, staging_checksum, strict_sources
from benchmarks.peers.comparison import Comparison


class Part(Protocol):
    """A part: `measure` returns its figures as JSON values."""

    def measure(self, most: int | None, orders: int, folder: Path) -> dict[str, Any]:
        """Measure at most `most` rounds, with as many orders where there are any, in an empty folder."""
        ...


@dataclass(frozen=True, slots=True)
class Timed:
    """The benchmarks of a module for pytest-benchmark."""

    module: str

    def measure(self, most: int | None, orders: int, folder: Path) -> dict[str, Any]:
        """Return the median of each benchmark."""
        del orders
        found = folder / "timed.json"
        words = ["--benchmark-only", "--benchmark-columns=median", f"--benchmark-json={found}"]
        small = ["-k", "not 000", f"--benchmark-min-rounds={most}", "--benchmark-max-time=0.01"]
        command = [sys.executable, "-m", "pytest", "-q", self.module, *words, *(small if most else [])]
        # A test that calls this runs in pytest itself, of which the new one must not know.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        subprocess.run(command, check=True, env=environment)
        return {
            "seconds": {
                one["name"]: {"median": one["stats"]["median"], **one["extra_info"]}
                for one in json.loads(found.read_text())["benchmarks"]
            }
        }


PARTS: Mapping[str, Part] = {
    "compile": Timed("benchmarks/test_compile.py"),
    "command-line": Timed("benchmarks/test_validate.py"),
    "parse": parse_cost.ParseCost(rounds=20),
    "start": Comparison({"start": 10, "start-tuned": 10}),
    "fourteen": Comparison(
        {
            "hand": 10,
            "functions": 10,
            "declared": 10,
            "declared-same-task": 10,
            "declared-apart": 3,
            "spark-pipelines": 3,
            "declared-staged": 1,
            "hand-steps": 1,
        }
    ),
    "six": Comparison({"six-before": 10, "six-apart": 3, "six": 10}),
    "retry": Comparison({"declared-same-task": 10, "retried": 10}),
    "subplans": Comparison(
        {
            **{f"4-{way}": 10 for way in ("hand", "again", "once")},
            **{f"4-{way}": 3 for way in ("hand-tuned", "persist")},
            **{f"4-{way}-sorted": 3 for way in ("hand", "again", "once")},
            **{f"8-{way}": 3 for way in ("hand", "again", "once")},
        }
    ),
    "checksum": staging_checksum.StagingChecksum(rounds=10),
    "strict": strict_sources.StrictSources(rounds=7),
    "view": first_paint.FirstPaint(rounds=7),
}
