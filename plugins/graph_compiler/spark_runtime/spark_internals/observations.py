"""The numbers that Spark's `observe` counted; only this module reads them.

`Observation._jo`, with the JVM's `future` and `getAsJava`: 4.3 classic.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Observation


def is_complete(observation: Observation) -> bool:
    """Whether an action has computed the rows, according to the events that Spark has delivered."""
    return bool(_in_jvm(observation).future().isCompleted())


def observed_count(observation: Observation, name: str) -> int:
    """Return a count of an observation that is complete, or wait for its action to end."""
    return observed_numbers(observation).get(name) or 0


def observed_numbers(observation: Observation) -> dict[str, int | None]:
    """Return all numbers of an observation that is complete, or wait for its action to end.

    An empty result means no rows: the optimizer saw that there are none, and removed the counting, too. pyspark's own
    `get` fails in this case.
    """
    found = dict(_in_jvm(observation).getAsJava())
    return {str(name): None if value is None else int(value) for name, value in found.items()}


def _in_jvm(observation: Observation) -> Any:
    assert observation._jo is not None, "it was attached by `observe`"
    return observation._jo
