"""The files of docs/benchmarks.md, made from the results: a page from `page.md`, and its picture."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.report.chart import chart
from benchmarks.report.goals import goals_table
from benchmarks.report.paired_ratios import paired_ratio
from benchmarks.report.runs_table import Runs

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
DOCS = HERE.parents[1] / "docs"


def pages(results: Path = RESULTS) -> dict[str, str]:
    """Return the text of each file of the documentation, by its name in docs/."""
    found = {file.stem: json.loads(file.read_text()) for file in sorted(results.glob("*.json"))}
    parts = {name: Runs(part["words"], part["runs"]) for name, part in found.items() if "runs" in part}
    templates = Environment(
        loader=FileSystemLoader(HERE),
        undefined=StrictUndefined,
        autoescape=False,  # it is Markdown
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = templates.get_template("page.md").render(
        parts=parts,
        found=found,
        goals=goals_table(found),
        measured=_measured,
        median=lambda seconds: f"{statistics.median(seconds):.1f}",
        ratio=lambda ours, theirs: str(paired_ratio(ours, theirs)),
    )
    return {"benchmarks.md": page, "benchmarks.svg": chart(parts["fourteen"])}


def _measured(part: Mapping[str, Any]) -> str:
    """Return when and where a part was measured, in one line."""
    where = part["conditions"]
    return f"Measured on {where['date']} at {where['commit']}: {where['machine']};\n{where['versions']}."
