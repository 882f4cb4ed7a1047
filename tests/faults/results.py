"""The results so far: one line of JSON for each finished case, and a table of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.faults.plan import Fault

_HEADER = (
    "| pipeline | fault | where | region | outcome | ran again | recomputed | extra time | left beside |\n"
    "| --- | --- | --- | --- | --- | --- | --- | ---: | ---: |\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One finished case; `problems` is empty if everything was correct."""

    case: str
    workload: str
    fault: str
    point: str
    region: str
    lost: tuple[str, ...]
    run_id: str
    seconds: float
    outcome: str
    rerun: tuple[str, ...]
    recomputed: tuple[str, ...]
    beside: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """The results in a folder."""

    folder: Path

    @property
    def table(self) -> Path:
        return self.folder / "table.md"

    def load(self) -> dict[str, Result]:
        """Return the last result of each case; a truncated line is ignored."""
        path = self._lines
        found: dict[str, Result] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                document = json.loads(line)
            except json.JSONDecodeError:
                continue
            values: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in document.items()
            }
            found[document["case"]] = Result(**values)
        return found

    def add(self, result: Result) -> None:
        """Store a result, and rewrite the table."""
        cut_off = self._lines.exists() and not self._lines.read_text().endswith("\n")
        with self._lines.open("a") as file:
            file.write(("\n" if cut_off else "") + json.dumps(asdict(result)) + "\n")
        self.table.write_text(table(self.load().values()))

    @property
    def _lines(self) -> Path:
        return self.folder / "results.jsonl"


def table(results: Iterable[Result]) -> str:
    """Return a table in Markdown, with the problems below it."""
    results = tuple(results)
    base = {result.workload: result.seconds for result in results if result.fault == Fault.NONE}
    good = sum(not result.problems for result in results)
    problems = "".join(f"- `{result.run_id}`: {problem}\n" for result in results for problem in result.problems)
    return (
        f"{good} of {len(results)} cases as they must be\n\n"
        + _HEADER
        + "".join(_row(result, base.get(result.workload)) for result in results)
        + (f"\n{problems}" if problems else "")
    )


def _row(result: Result, base: float | None) -> str:
    extra = "–" if base is None else f"{result.seconds - base:+.0f} s"
    if result.fault == Fault.NONE:
        extra = f"({result.seconds:.0f} s)"
    lost = f", lost: {', '.join(result.lost)}" if result.lost else ""
    cells = (
        result.workload,
        result.fault,
        result.point if result.fault != Fault.NONE else "",
        result.region + lost,
        result.outcome if not result.problems else f"**{result.outcome}**",
        ", ".join(result.rerun) or "none",
        ", ".join(result.recomputed) or "none",
        extra,
        str(len(result.beside)),
    )
    return f"| {' | '.join(cells)} |\n"
