"""Files of many columns, and filters on folders."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graph_compiler import Csv, Json
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.text_records import MARK

pytestmark = [pytest.mark.spark, pytest.mark.ci]
NAMES = [f"column_{number}" for number in range(300)]
SCHEMA = ", ".join(f"{name} {'INT' if number % 2 else 'STRING'}" for number, name in enumerate(NAMES))


def write_wide(path: Path, kind: type[FileConnector], last: str) -> None:
    """Write two records; `last` is in the last column of the second."""
    values = [number if number % 2 else f"text {number}" for number in range(len(NAMES))]
    texts = [str(value) for value in values]
    if kind is Csv:
        path.write_text("\n".join((",".join(NAMES), ",".join(texts), ",".join([*texts[:-1], last]), "")))
    else:
        objects = (dict(zip(NAMES, values, strict=True)), dict(zip(NAMES, [*values[:-1], last], strict=True)))
        path.write_text("\n".join(map(json.dumps, objects)))


@pytest.mark.parametrize("is_declared", [True, False])
@pytest.mark.parametrize("kind", [Csv, Json])
def test_a_file_of_many_columns_is_read(
    kind: type[Csv | Json], is_declared: bool, spark: SparkSession, tmp_path: Path
) -> None:
    write_wide(tmp_path / "in", kind, "299")
    started = time.monotonic()
    rows = read_source(kind(str(tmp_path / "in"), schema=SCHEMA if is_declared else None), spark).collect()
    print(f"{kind.__name__}, declared: {is_declared}: {time.monotonic() - started:.1f} s")
    values = [int(number) if number % 2 else f"text {number}" for number in range(len(NAMES))]
    assert [[str(row[name]) for name in NAMES] for row in rows] == [list(map(str, values))] * 2


@pytest.mark.parametrize("kind", [Csv, Json])
def test_a_misfit_in_the_last_of_many_columns_is_found(
    kind: type[Csv | Json], spark: SparkSession, tmp_path: Path
) -> None:
    write_wide(tmp_path / "in", kind, "3.50")
    rows = read_source(kind(str(tmp_path / "in"), schema=SCHEMA), spark)
    with pytest.raises(PySparkException, match=MARK) as failure:
        rows.select(NAMES[0]).collect()
    assert f'"column":"{NAMES[-1]}"' in str(failure.value)


@pytest.mark.parametrize("schema", ["id INT, day INT", None])
@pytest.mark.parametrize("kind", [Csv, Json])
def test_a_filter_on_a_folder_reads_only_its_files(
    kind: type[Csv | Json], schema: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    for day in range(1, 4):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "part").write_text("id\n7\n" if kind is Csv else '{"id": 7}\n')
    rows = read_source(kind(str(tmp_path), schema=schema), spark).where("day = 2")
    assert [(row.id, row.day) for row in rows.collect()] == [(7, 2)]
    plan = rows._jdf.queryExecution().executedPlan()
    scans = [leaf for leaf in leaves_of(plan) if leaf.nodeName().startswith("Scan text")]
    assert [scan.metrics().apply("numFiles").value() for scan in scans] == [1] * len(scans) != []


def leaves_of(plan: Any) -> list[Any]:
    """Return the leaves of an executed plan."""
    found = plan.collectLeaves()
    return [found.apply(number) for number in range(found.size())]
