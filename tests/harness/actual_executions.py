"""Stages and exchanges as tests need them, with only what matters to a test set."""

from __future__ import annotations

from typing import Any

from graph_compiler.deployment.documents.actual_execution import ExchangeRun, StageRun


def stage(stage_id: int, **known: Any) -> StageRun:
    """Return a stage of four tasks that moved nothing."""
    amounts = dict.fromkeys(
        (
            "failed_tasks", "run_milliseconds", "input_rows", "input_bytes", "output_rows", "output_bytes",
            "exchange_rows_read", "exchange_bytes_read", "exchange_rows_written", "exchange_bytes_written",
            "memory_spilled", "disk_spilled",
        ),
        0,
    )  # fmt: skip
    return StageRun(**{"stage_id": stage_id, "attempts": 1, "tasks": 4, **amounts, **known})


def an_exchange(**known: Any) -> ExchangeRun:
    """Return a hash exchange of which nothing else is known."""
    unknown = dict.fromkeys(
        (
            "source", "target", "written_by", "read_by", "rows", "bytes", "partitions", "tasks", "joined", "split",
            "bytes_by_task",
        )
    )  # fmt: skip
    return ExchangeRun(**{"kind": "hash", "columns": ("k",), **unknown, **known})
