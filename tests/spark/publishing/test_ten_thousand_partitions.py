"""Ten thousand partitions that Spark writes: the publication dies in the middle, and the next attempt finishes it."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.dataset as arrow
import pytest

from graph_compiler import Parquet
from graph_compiler.staging.publications import carrier
from tests.harness.sinks import Sinks

pytestmark = [pytest.mark.spark, pytest.mark.long]
MOST = 10_000


class DiedError(BaseException):
    """The driver dies: nothing catches it."""


def rows_of(target: Path) -> dict[int, list[int]]:
    """Return what a reader without Spark sees: the values of each day."""
    found: dict[int, list[int]] = {}
    for row in arrow.dataset(target, format="parquet", partitioning="hive").to_table().to_pylist():
        found.setdefault(row["day"], []).append(row["v"])
    return found


def test_a_publication_of_ten_thousand_partitions_that_dies_is_finished_by_the_next_attempt(
    sinks: Sinks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Parquet(str(tmp_path / "out"))
    by_day: dict[str, Any] = {"mode": "overwrite-partitions", "partition_by": ("day",)}
    sinks.write(target, f"SELECT 1 AS v, id AS day FROM range({MOST})", run="r1", **by_day)
    real = carrier.steps

    def dies(*given: object) -> Iterator[None]:
        yield from islice(real(*given), MOST // 2)  # type: ignore[arg-type]  # what it is called with
        raise DiedError

    again = f"SELECT 2 AS v, id AS day FROM range({MOST})"
    with monkeypatch.context() as patched:
        patched.setattr(carrier, "steps", dies)
        with pytest.raises(DiedError):
            sinks.write(target, again, run="r2", **by_day)
    sinks.write(target, again, run="r2", **by_day)
    assert rows_of(tmp_path / "out") == {day: [2] for day in range(MOST)}
