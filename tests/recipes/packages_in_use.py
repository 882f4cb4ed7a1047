"""Pipelines that use the packages in `acme/`, in a process that has them on its path, or has not (test_packages.py)."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.coordination import EventOutput, RegionEventKind
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.wire import from_json, from_wire, to_json, to_wire
from graph_compiler.errors import ExtensionError
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.projects.yaml.export import export_pipeline
from graph_compiler.projects.yaml.reader import parse_pipeline

TEXT = """
name: monthly
params: {folder: FOLDER}
sources:
  sales: {sqlite: "{{ params.folder }}/sales.db", table: sales}
steps:
  - {from: sales, apply: {unpivot: [jan, feb], names: month, values: amount}, as: months}
  - {name: sold, filter: amount > 0}
sinks:
  by_month: {from: sold, sink_to: {sqlite: "{{ params.folder }}/report.db", table: by_month}}
"""


def in_python(folder: str) -> Pipeline:
    from acme_sqlite.connector import Sqlite
    from acme_unpivot.operator import Unpivot

    env = StreamExecutionEnvironment("monthly", params={"folder": folder})
    sales = env.from_source(Sqlite("{{ params.folder }}/sales.db", "sales"), "sales")
    months = sales.apply(Unpivot(("jan", "feb"), "month", "amount"))
    sold = months.filter("amount > 0").name("sold")
    sold.sink_to(Sqlite("{{ params.folder }}/report.db", "by_month")).name("by_month")
    return env.pipeline()


def in_yaml(folder: str) -> Pipeline:
    return parse_pipeline(TEXT.replace("FOLDER", folder), "monthly.yaml")


def check_declared() -> None:
    """Python, YAML and what is exported are one declaration; it is described, explained, and survives the wire."""
    from graph_compiler.deployment.describe.templates import asset_uri
    from tests.yaml.equality import assert_equal

    python, yaml = in_python("/data"), in_yaml("/data")
    assert_equal(yaml, python)
    assert_equal(parse_pipeline(export_pipeline(python), "exported.yaml"), python)
    compiled = compile_pipeline(python)
    assert "Unpivot" in explain_text(plan_of(compiled))
    (region,) = describe_regions(compiled)
    document: Any = to_wire(region)
    assert '"type": "acme_sqlite.connector:Sqlite"' in json.dumps(document)
    assert from_wire(RegionDescriptor, document) == region
    sink: Any = region.operators[-1].operator
    assert asset_uri(sink.connector, {"folder": "/data"}) == "sqlite:///data/report.db/by_month"
    assert not {"pyspark", "acme_sqlite.spark", "acme_unpivot.spark"} & sys.modules.keys()


def check_listener() -> None:
    """The driver finds it by its entry point, and notifies it of a publication."""
    from graph_compiler.spark_runtime.region.region_listeners import Listeners

    found = Listeners.installed()
    (region,) = describe_regions(compile_pipeline(in_python("/data")))
    desk = DeskRun(day="2013-01-01", params={"folder": "/data"}, run_id="r", staging_root="/staging")
    outputs = [EventOutput(name="by_month", location="/data/report.db", rows=3)]
    found.notify(desk_task(region, desk, execution_id="e"), RegionEventKind.PUBLISHED, outputs)
    audit: Any = found.known["audit"]
    assert audit.lines == [f"{region.pipeline}: by_month has 3 rows"]


def leave_descriptor(file: str) -> None:
    (region,) = describe_regions(compile_pipeline(in_python("/data")))
    Path(file).write_text(to_json(region))


def read_descriptors(*files: str) -> None:
    for file in files:
        try:
            print(from_json(RegionDescriptor, Path(file).read_text()).region_id)
        except ExtensionError as error:
            print(error)


def read_yaml() -> None:
    print([t.id for t in in_yaml("/data").transformations])


def compile_unregistered() -> None:
    """The packages can be imported here, and no metadata says what they register."""
    compile_pipeline(in_python("/data"))


def check_run(folder: str) -> None:
    """Read from SQLite, evaluate, publish to SQLite, twice."""
    from pyspark.sql import SparkSession

    from graph_compiler.testing import REAL, MiniCluster

    with closing(sqlite3.connect(f"{folder}/sales.db")) as database, database:
        database.execute("CREATE TABLE sales (shop TEXT, jan INTEGER, feb INTEGER)")
        database.execute("INSERT INTO sales VALUES ('a', 1, 2), ('b', 0, 3)")
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        for _ in range(2):
            MiniCluster(spark).run(in_yaml(folder), REAL, write_sinks=True)
    finally:
        spark.stop()
    with closing(sqlite3.connect(f"{folder}/report.db")) as database:
        rows = database.execute("SELECT shop, month, amount FROM by_month ORDER BY 1, 2")
        assert rows.fetchall() == [("a", "feb", 2), ("a", "jan", 1), ("b", "feb", 3)]
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert tables.fetchall() == [("by_month",)]


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
