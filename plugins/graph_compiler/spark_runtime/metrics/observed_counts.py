"""What Spark's `observe` counted; the one place that reads it."""

from __future__ import annotations

from pyspark.sql import Observation


def observed_count(observation: Observation, name: str) -> int:
    """Give a count of an observation that is complete, or wait for its action to end."""
    return observed_numbers(observation).get(name) or 0


def observed_numbers(observation: Observation) -> dict[str, int | None]:
    """Give all numbers of an observation that is complete, or wait for its action to end.

    Nothing at all stands for none: the optimizer saw that there are no rows, and left the counting out with them.
    pyspark's own `get` fails there.
    """
    assert observation._jo is not None, "it was attached by `observe`"
    found = dict(observation._jo.getAsJava())
    return {str(name): None if value is None else int(value) for name, value in found.items()}
