"""Use a setting that `test_setting.py` adds to a copy of the package, on which it runs this."""

import sys
from typing import Any

from graph_compiler import StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.wire import from_wire, to_wire
from graph_compiler.projects.yaml.export import export_pipeline
from graph_compiler.projects.yaml.reader import parse_pipeline


def declared() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("toy")
    rows: Any = env.from_source(Values([(1,), (2,), (3,)], "v INT"), "rows")
    rows.filter("v > 0").name("kept").set_most_rows(2).sink_to(rows_out()).name("out")
    return env


def rows_out() -> Any:
    from graph_compiler import Parquet

    return Parquet("/out")


def check_declaration() -> None:
    """Check it from Python and YAML to the descriptor, through the wire, and from documents without it."""
    pipeline = declared().pipeline()
    text = export_pipeline(pipeline)
    assert "most_rows: 2" in text
    assert parse_pipeline(text, "toy.yaml").transformations[1].settings.most_rows == 2  # type: ignore[attr-defined]  # the copy has it
    (region,) = describe_regions(compile_pipeline(pipeline))
    document: Any = to_wire(region)
    (kept,) = [operator for operator in region.operators if operator.name == "kept"]
    assert kept.settings.most_rows == 2  # type: ignore[attr-defined]  # the copy has it
    assert from_wire(RegionDescriptor, document) == region
    older: Any = to_wire(kept)
    assert older.pop("most_rows") == 2
    assert from_wire(OperatorDescriptor, older).settings.most_rows is None  # type: ignore[attr-defined]


def check_spark() -> None:
    from pyspark.sql import SparkSession

    from graph_compiler.testing import MiniCluster

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        assert len(MiniCluster(spark).run(declared()).sink("out").rows) == 2
    finally:
        spark.stop()


if __name__ == "__main__":
    {"declaration": check_declaration, "spark": check_spark}[sys.argv[1]]()
