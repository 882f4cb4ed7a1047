"""Options under Flink's keys, checked by pydantic.

    read_options({"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"})

The compiler calls this; a declaration carries the raw pairs, so that declaring needs the standard library only
(pipelines are imported on Spark's driver, which has no pydantic).
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graph_compiler.errors import Problem

MAX_PARALLELISM = 32768


class ShuffleMode(StrEnum):
    """`execution.batch-shuffle-mode`: which exchanges that no declaration decides are staged.

    AUTO, ours and the default, stages an exchange only for a reason it can name (`compiler/exchange_modes.py`).
    """

    AUTO = "AUTO"
    ALL_EXCHANGES_BLOCKING = "ALL_EXCHANGES_BLOCKING"
    ALL_EXCHANGES_PIPELINED = "ALL_EXCHANGES_PIPELINED"


class RuntimeMode(StrEnum):
    """`execution.runtime-mode`: whether a pipeline ends by itself (BATCH, our default) or runs on."""

    BATCH = "BATCH"
    STREAMING = "STREAMING"


class PipelineOptions(BaseModel):
    """Every option a pipeline may set, with its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    runtime_mode: RuntimeMode = Field(
        default=RuntimeMode.BATCH,
        alias="execution.runtime-mode",
        description="Whether the pipeline ends by itself. STREAMING compiles, and cannot be deployed yet.",
    )
    shuffle_mode: ShuffleMode = Field(
        default=ShuffleMode.AUTO,
        alias="execution.batch-shuffle-mode",
        description="Which exchanges are staged between two Spark applications.",
    )
    parallelism: int = Field(
        default=1,
        ge=1,
        le=MAX_PARALLELISM,
        alias="parallelism.default",
        description="Parallelism of operators that set none; Spark's adaptive execution decides the real one.",
    )
    max_parallelism: int | None = Field(
        default=None,
        ge=1,
        le=MAX_PARALLELISM,
        alias="pipeline.max-parallelism",
        description="Upper bound of every operator's parallelism.",
    )
    chaining_enabled: bool = Field(
        default=True,
        alias="pipeline.operator-chaining.enabled",
        description="Whether neighbouring operators become one job vertex.",
    )


def read_options(config: Sequence[tuple[str, str]]) -> tuple[PipelineOptions, tuple[Problem, ...]]:
    """Check (key, value) pairs; gives the defaults beside the problems when there are any."""
    try:
        return PipelineOptions.model_validate(dict(config)), ()
    except ValidationError as error:
        problems = tuple(
            _problem(str(found["loc"][0]), found["msg"], found["input"]) for found in error.errors()
        )
        return PipelineOptions(), problems


def _problem(key: str, reason: str, value: object) -> Problem:
    keys = [str(field.alias) for field in PipelineOptions.model_fields.values()]
    if key not in keys:
        close = get_close_matches(key, keys, n=1)
        return Problem(
            message=f"there is no option '{key}'",
            allowed=", ".join(keys),
            hint=f"did you mean '{close[0]}'?" if close else None,
        )
    return Problem(message=f"option '{key}' is {value!r}: {reason[:1].lower()}{reason[1:]}")
