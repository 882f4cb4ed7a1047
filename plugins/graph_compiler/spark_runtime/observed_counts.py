"""What Spark's `observe` counted; the one place that reads it."""

from __future__ import annotations

from pyspark.sql import Observation


def observed_count(observation: Observation, name: str) -> int:
    """Give a count of an observation that is complete, or wait for its action to end.

    Nothing at all stands for none: the optimizer saw that there are no rows, and left the counting out with them.
    pyspark's own `get` fails there.
    """
    assert observation._jo is not None, "it was attached by `observe`"
    return int(dict(observation._jo.getAsJava()).get(name, 0))
