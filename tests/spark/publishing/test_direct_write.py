"""Files that are written under their final names, as into a store of objects; here into a folder of this disk."""

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.direct_write import write_directly

pytestmark = [pytest.mark.spark, pytest.mark.ci]


@pytest.mark.parametrize("partition_by", [(), ("country",)])
def test_the_named_files_hold_each_row_once(spark: SparkSession, tmp_path: Path, partition_by: tuple[str, ...]) -> None:
    rows = spark.sql("SELECT id, IF(id % 2 = 0, 'AT', 'N:O') AS country FROM range(100)").repartition(3)
    written = write_directly(rows, (tmp_path / "rows").as_uri(), options={}, partition_by=partition_by)
    names = [str(tmp_path / "rows" / file.name) for file in written.files]
    assert {Path(name) for name in names} == {*(tmp_path / "rows").rglob("*.parquet")}
    assert [file.bytes for file in written.files] == [Path(name).stat().st_size for name in names]
    assert (written.counted.rows, written.counted.files) == (100, len(names))
    read = duckdb.execute("SELECT id FROM read_parquet(?) ORDER BY id", [names]).fetchall()
    assert read == [(number,) for number in range(100)]
