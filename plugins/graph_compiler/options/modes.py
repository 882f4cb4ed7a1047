"""The values of options that have few, under Flink's names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ShuffleMode(StrEnum):
    """`execution.batch-shuffle-mode`: which exchanges are staged, unless the declaration decides it.

    AUTO, the default, does not exist in Flink: it stages an exchange only for a reason, which is shown. The hybrid
    modes compile as in Flink but cannot be deployed: Spark has no hybrid results.
    """

    AUTO = "AUTO"
    ALL_EXCHANGES_BLOCKING = "ALL_EXCHANGES_BLOCKING"
    ALL_EXCHANGES_PIPELINED = "ALL_EXCHANGES_PIPELINED"
    ALL_EXCHANGES_HYBRID_FULL = "ALL_EXCHANGES_HYBRID_FULL"
    ALL_EXCHANGES_HYBRID_SELECTIVE = "ALL_EXCHANGES_HYBRID_SELECTIVE"


class RuntimeMode(StrEnum):
    """`execution.runtime-mode`: BATCH (our default) ends by itself; AUTOMATIC is BATCH if every source ends."""

    BATCH = "BATCH"
    STREAMING = "STREAMING"
    AUTOMATIC = "AUTOMATIC"


class Scheduler(StrEnum):
    """`jobmanager.scheduler`: Default (our default) decides all parallelism; AdaptiveBatch leaves unset ones open."""

    DEFAULT = "Default"
    ADAPTIVE_BATCH = "AdaptiveBatch"


class DescriptionMode(StrEnum):
    """`pipeline.vertex-description-mode`: the form in which plans show the operators of a chain."""

    TREE = "TREE"
    CASCADING = "CASCADING"


class RestartStrategyType(StrEnum):
    """`restart-strategy.type`: when a failed region is retried; unset leaves it to the Dag's `retries`."""

    NONE = "none"
    FIXED_DELAY = "fixed-delay"
    EXPONENTIAL_DELAY = "exponential-delay"
    FAILURE_RATE = "failure-rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOptions:
    """Valid keys and values, and where they are set, for messages."""

    values: tuple[tuple[str, str], ...] = ()
    origin: str = ""


NO_DEPLOYMENT_OPTIONS = DeploymentOptions()
