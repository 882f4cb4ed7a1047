"""Two ways to do the same in one Spark session, one after the other in each round, in alternating order."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.jvm_settings import SESSION, driver_defaults

_MASTER = "local[2]"
Seconds = dict[str, float]
"""CPU and wall time."""


def compare(ways: tuple[str, str], run: Callable[[str], Seconds], rounds: int) -> dict[str, list[Seconds]]:
    """Return the seconds of each way by round; both run once before, since classes are loaded and code is compiled."""
    found: dict[str, list[Seconds]] = {way: [] for way in ways}
    for way in ways:
        run(way)
    for round in range(rounds):
        for way in ways if round % 2 == 0 else ways[::-1]:
            found[way].append(run(way))
    return found


def session() -> SparkSession:
    """Return a session on two cores with the settings of a region."""
    builder = SparkSession.builder.master(_MASTER).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    for key, value in {**SESSION, **driver_defaults(_MASTER, {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
