"""A module that needs a Spark session when it is imported is refused, with what to write instead."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

MODULE = """
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from graph_compiler import Parquet, Range, StreamExecutionEnvironment


{needs}


env = StreamExecutionEnvironment("sales")
env.from_source(Range(0, 3), "ids").transform(sized).sink_to(Parquet("/out/ids"))
"""
FUNCTION = """
def sized(rows):
    return rows.withColumn("size", {column})
"""
UDF = """
@F.udf({type})
def size_of(n):
    return "small"
"""


@pytest.mark.parametrize(
    "needs",
    [
        UDF.format(type='"string"') + FUNCTION.format(column='size_of("id")'),
        "SIZE = F.col('id')\n" + FUNCTION.format(column="SIZE"),
    ],
)
def test_the_hint_says_what_to_write(tmp_path: Path, needs: str) -> None:
    checked = validated(tmp_path, needs)
    assert checked.returncode == 2
    assert "there is no Spark session when a pipeline is loaded" in checked.stderr
    assert "@udf(StringType())" in checked.stderr


def test_what_the_hint_says_works(tmp_path: Path) -> None:
    needs = UDF.format(type="StringType()") + FUNCTION.format(column='size_of(F.col("id"))')
    assert validated(tmp_path, needs).returncode == 0


def validated(project: Path, needs: str) -> subprocess.CompletedProcess[str]:
    """Validate a pipeline in a process of its own, which has no session."""
    (project / "pipelines").mkdir()
    (project / "pipelines/sales.py").write_text(MODULE.format(needs=needs))
    return subprocess.run(
        [sys.executable, "-m", "graph_compiler", "validate"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
