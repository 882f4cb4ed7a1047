"""Compare graph_compiler with the hand-written job: the same pipeline, data and settings, round by round.

    python -m benchmarks.peers.compare --rounds 10 --variants hand functions declared

Each round runs every variant once, every other round in reverse, so that other load on the machine affects them
equally. Ratios are taken within a round, to the first variant. docs/benchmarks.md says what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median

from benchmarks.peers.applications import VARIANTS
from benchmarks.peers.check import RIGHT, Rows
from benchmarks.peers.gen_data import ORDERS, generate
from benchmarks.peers.paired_ratios import Ratio, paired_ratio
from benchmarks.peers.runs import SETTINGS, Run, run

START = "start"
_HEADER = "round variant              CPU s  wall s work CPU s work wall s"


def main(words: Sequence[str] | None = None) -> None:
    """Generate the data if missing, run all rounds, print and write the results."""
    options = _options(words)
    with tempfile.TemporaryDirectory(prefix="peers-") as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        data = folder / f"data-{options.orders}"
        subprocess.run([sys.executable, "-m", "graph_compiler", "warm"], check=True)
        if not data.exists():
            generate(options.orders, data)
        runs = _run_rounds(options.variants, options.rounds, data, folder)
    print(f"\n{_table(options.variants, runs)}")
    if options.json:
        document = json.dumps(_document(options, runs))
        known = json.loads(document, parse_constant=lambda _: None)  # JSON has no NaN
        options.json.write_text(json.dumps(known, indent=1) + "\n")


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="compare", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--orders", type=int, default=ORDERS, help="a multiple of 8")
    parser.add_argument(
        "--variants",
        nargs="+",
        choices=[name for name in VARIANTS if name != START],
        default=["hand", "functions", "declared", "start-tuned"],
        help="the others are compared with the first",
    )
    parser.add_argument("--folder", type=Path, help="keeps the data; a temporary one by default")
    parser.add_argument("--json", type=Path, help="where to write every run")
    return parser.parse_args(words)


def _run_rounds(variants: Sequence[str], rounds: int, data: Path, folder: Path) -> list[Run]:
    """Run every variant in every round, Spark's start among them; raises SystemExit for wrong rows."""
    orders = int(data.name.partition("-")[2])
    right: dict[str, Rows] = RIGHT.get(orders, {})
    runs: list[Run] = []
    print(_HEADER)
    for round in range(rounds):
        in_order = [START, *variants]
        for variant in in_order if round % 2 == 0 else reversed(in_order):
            found, sinks = run(variant, round=round, data=data, folder=folder)
            runs.append(found)
            print(_line(found), flush=True)
            right = right or sinks
            if sinks and sinks != right:
                raise SystemExit(f"{variant} gave {sinks}\nexpected {right}")
    return runs


def _line(found: Run) -> str:
    cost = found.cost
    work = f"{cost.work_cpu:10.1f} {cost.work_wall:11.1f}"
    return f"{found.round:5} {found.variant:18} {cost.cpu:7.1f} {cost.wall:7.1f} {work}"


def _table(variants: Sequence[str], runs: Sequence[Run]) -> str:
    """Write medians and ratios, as docs/benchmarks.md shows them: with Spark's start, and the work alone."""
    head = ["variant", "applications"]
    for what in ("", "work "):
        head += [f"{what}CPU s", f"{what}wall s", f"{what}CPU, ratio", f"{what}wall, ratio"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for variant in (START, *variants):
        mine = [found for found in runs if found.variant == variant]
        cells = [variant, str(mine[0].applications)]
        for fields in (("cpu", "wall"), ("work_cpu", "work_wall")):
            works = not fields[0].startswith("work") or _works(variant, mine)
            cells += [_seconds(mine, field) if works else "" for field in fields]
            first = START if variant.startswith(START) else variants[0]
            compared = works and variant != first
            cells += [
                str(_ratio(variant, first, field, runs)) if compared else "" for field in fields
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _works(variant: str, runs: Sequence[Run]) -> bool:
    """Whether a variant does work that is measured from inside."""
    return not variant.startswith(START) and not math.isnan(runs[0].cost.work_cpu)


def _seconds(runs: Sequence[Run], field: str) -> str:
    return f"{median(getattr(found.cost, field) for found in runs):.1f}"


def _ratio(variant: str, other: str, field: str, runs: Sequence[Run]) -> Ratio:
    def by_round(name: str) -> list[float]:
        mine = sorted(
            (found for found in runs if found.variant == name), key=lambda found: found.round
        )
        return [getattr(found.cost, field) for found in mine]

    return paired_ratio(by_round(variant), by_round(other))


def _document(options: argparse.Namespace, runs: Sequence[Run]) -> dict[str, object]:
    first = options.variants[0]
    return {
        "orders": options.orders,
        "settings": SETTINGS,
        "machine": {"cpus": os.cpu_count(), "system": platform.platform()},
        "versions": {"python": platform.python_version(), "pyspark": version("pyspark")},
        "ratios": {
            variant: {
                field: asdict(_ratio(variant, first, field, runs))
                for field in ("cpu", "wall", "work_cpu", "work_wall")
            }
            for variant in options.variants[1:]
        },
        "runs": [asdict(found) for found in runs],
    }


if __name__ == "__main__":
    main()
