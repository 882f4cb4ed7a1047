"""What a run has done so far, read from the documents its tasks leave in the staging root."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.deployment.report import ExecutionReport
from graph_compiler.deployment.staging_layout import DESCRIPTOR, REPORT, executions_folder
from graph_compiler.identifiers import RegionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One attempt at a region. Times are seconds since the epoch; `report` None while it runs, or if it died."""

    execution_id: str
    attempt_number: int
    started: float
    ended: float | None
    report: ExecutionReport | None


def executions(run: Path, region_id: RegionId) -> tuple[Execution, ...]:
    """Give a region's attempts, first to last."""
    folders = Path(executions_folder(str(run), region_id)).glob("*")
    found = [execution for folder in folders if (execution := _execution(folder)) is not None]
    return tuple(sorted(found, key=lambda execution: execution.started))


def failure_times(run: Path, region_id: RegionId, *, but: str) -> tuple[float, ...]:
    """Give when a region's attempts failed, first to last, but for one execution; of one that died, when it began."""
    earlier = [one for one in executions(run, region_id) if one.execution_id != but]
    return tuple(
        one.ended or one.started
        for one in earlier
        if one.report is None or one.report.failure is not None
    )


def _execution(folder: Path) -> Execution | None:
    descriptor, report = folder / DESCRIPTOR, folder / REPORT
    try:
        attempt = json.loads(descriptor.read_text())["attempt"]
    except (FileNotFoundError, json.JSONDecodeError):  # just being written
        return None
    ended = report.exists()
    return Execution(
        execution_id=attempt["execution_id"],
        attempt_number=attempt["attempt_number"],
        started=descriptor.stat().st_mtime,
        ended=report.stat().st_mtime if ended else None,
        report=ExecutionReport.from_json(report.read_text()) if ended else None,
    )
