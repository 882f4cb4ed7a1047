"""Several ways to run one pipeline, round by round: the same data and settings, and the same rows.

Each round runs every variant once, every other round in reverse, so that other load on the machine affects them
equally. A variant that takes long may be left out of later rounds.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.applications import VARIANTS
from benchmarks.peers.check import RIGHT, Rows
from benchmarks.peers.gen_data import generate
from benchmarks.peers.runs import Run, run


@dataclass(frozen=True, slots=True)
class Comparison:
    """Variants by name, each with the number of rounds it runs at most."""

    rounds: Mapping[str, int]

    def measure(self, most: int | None, orders: int, folder: Path) -> dict[str, Any]:
        """Run at most `most` rounds; return every run. Raises SystemExit for rows that differ."""
        data = folder / f"data-{orders}"
        subprocess.run([sys.executable, "-m", "graph_compiler", "warm"], check=True)
        if not data.exists():
            generate(orders, data)
        runs: list[Run] = []
        right: dict[int, dict[str, Rows]] = {}  # by number of sinks
        for round in range(min(max(self.rounds.values()), most or 1000)):
            wanted = [name for name, times in self.rounds.items() if round < times]
            for variant in wanted if round % 2 == 0 else reversed(wanted):
                found, sinks = run(variant, round=round, data=data, folder=folder)
                runs.append(found)
                print(_line(found), flush=True)
                known = right.setdefault(len(sinks), _known(sinks, orders))
                if sinks != known:
                    raise SystemExit(f"{variant} gave {sinks}\nexpected {known}")
        return {
            "orders": orders,
            "words": {name: VARIANTS[name].words for name in self.rounds},
            "runs": [asdict(found) for found in runs],
        }


def _known(sinks: dict[str, Rows], orders: int) -> dict[str, Rows]:
    """Return the rows that are right: known ones for sinks of this name, otherwise those of the first run."""
    known = RIGHT.get(orders, {})
    return known if sinks.keys() == known.keys() else sinks


def _line(found: Run) -> str:
    cost = found.cost
    return (
        f"{found.round:5} {found.variant:20} {found.applications:3} applications "
        f"{cost.cpu:7.1f} CPU s {cost.wall:7.1f} s"
    )
