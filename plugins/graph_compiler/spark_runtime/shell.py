"""A PySpark session in which every operator of a region is a DataFrame: `shell.py <descriptor.json>`.

    >>> with_weather.where("temp IS NULL").count()

`shell.py <descriptor.json> <counting.json>` counts the rows of one operator by columns, and writes the answer beside
the request. Inputs are those that the execution read. It writes only rows that must be fixed to be read twice, below
the descriptor's staging root.
"""

from __future__ import annotations

import code
import itertools
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder is first on sys.path; the package that holds it is two levels up.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count

from graph_compiler import program_log
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.counting import COUNTED, Counted, CountRequest
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.driver_jvm.pinned_process import pin_process
from graph_compiler.identifiers import listing, quoted
from graph_compiler.spark_runtime.artifacts import add_artifacts
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.main import session
from graph_compiler.spark_runtime.positions.increments import Increments
from graph_compiler.spark_runtime.region.previous_version import replayed_version
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.region.region_run import FixedRows
from graph_compiler.spark_runtime.region_metrics import RegionMetrics
from graph_compiler.spark_runtime.rehearsal.preview import preview
from graph_compiler.spark_runtime.repeatability.run_clock import run_clock
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.stores import open_on_driver, store_of


def named_rows(task: TaskDeploymentDescriptor, spark: SparkSession) -> dict[str, DataFrame]:
    """Return the outputs of a region's operators by name: `flown`, or `flown_cancelled` for a side output.

    Names that several outputs share have numbers: `split_1`, `split_2`.
    """
    area = StagingArea(
        spark=spark,
        log=ManifestLog(store=store_of(task.staging_root), layout=task.layout),
        attempt=task.attempt,
        plan_id=task.region.plan_id,
        parameters=dict(task.parameters),
        contracts=tuple,
    )
    evaluation = RegionEvaluation(
        region=task.region,
        spark=spark,
        parameters=dict(task.parameters),
        read_source=lambda connector, parallelism: read_source(connector, spark, parallelism),
        read_previous=lambda operator, _: replayed_version(task, area, operator),
        increment=partial(Increments.of(task, spark, store_of(task.staging_root)).pin, task.region),
        read_staged=lambda staged, partitions: area.read(area.find(staged), partitions=partitions),
        materialize=FixedRows(area, RegionMetrics(spark, task.region)).fix,
        stop_clock=run_clock(area.log.store, task, spark).stop_for,
        contracts=[],
    )
    found: list[tuple[str, DataFrame]] = []
    for operator in evaluation.graph.operators.values():
        if isinstance(operator.operator, Sink):
            found.append((operator.name, evaluation.rows_into(operator)))
            continue
        evaluation.run(operator)
        for (node_id, tag), rows in evaluation.outputs.items():
            if node_id == operator.node_id:
                found.append((operator.name if tag is None else f"{operator.name}_{tag}", rows))
    return _numbered([(_identifier(name), rows) for name, rows in found])


def count_values(found: dict[str, DataFrame], request: CountRequest) -> Counted:
    """Count the rows of an operator by columns: the most frequent values first, and how many different ones there are.

    The answer has a problem instead if there is no such operator or column, or if several outputs share the name.
    """
    name = _identifier(request.operator)
    rows = found.get(name)
    if rows is None and (same := [each for each in found if re.fullmatch(rf"{name}_\d+", each)])[1:]:
        words = f"'{request.operator}' is not the name of a single operator; name one of these:"
        return Counted(problem=words + "".join(f"\n    {each}: {listing(found[each].columns)}" for each in same))
    if rows is None:
        return Counted(problem=f"no operator '{request.operator}'\n  found: {listing(found)}")
    if unknown := [column for column in request.columns if column not in rows.columns]:
        return Counted(problem=f"no column {listing(unknown)}\n  found: {listing(rows.columns)}")
    columns = [col(quoted(column)) for column in request.columns]
    number = "rows"
    while number.lower() in map(str.lower, request.columns):
        number += "_"
    counted = rows.groupBy(*columns).agg(count(lit(1)).alias(number)).orderBy(col(number).desc(), *columns)
    return Counted(values=preview(counted, limit=request.limit, counts=True))


def _identifier(name: str) -> str:
    found = re.sub(r"\W", "_", name)
    return found if found.isidentifier() else f"_{found}"


def _numbered(named: list[tuple[str, DataFrame]]) -> dict[str, DataFrame]:
    """Return rows by name, each with a number if others have the name, too; a number that is taken is left out."""
    times = Counter(name for name, _ in named)
    found: dict[str, DataFrame] = {}
    for name, rows in named:
        numbers = (f"{name}_{number}" for number in itertools.count(1))
        found[name if times[name] == 1 else next(each for each in numbers if each not in {*found, *times})] = rows
    return found


def main(descriptor_path: str, request: str | None = None) -> int:
    """Open the session, which ends with the terminal's end of file, or answer the request in a file."""
    program_log.show_logs()
    pin_process()
    open_on_driver()
    task = AttemptDocuments.beside(descriptor_path).read_descriptor()
    assert task is not None, "it was written just now"
    spark = session(task)
    try:
        add_artifacts(task, spark)
        rows = named_rows(task, spark)
        if request is not None:
            path = Path(request)
            answer = count_values(rows, from_json(CountRequest, path.read_text()))
            path.with_name(COUNTED).write_text(to_json(answer))
            return 0
        lines = [f"{name}: {', '.join(frame.columns)}" for name, frame in rows.items()]
        banner = "\n".join([f"{task.region.pipeline}.{task.region.region_id}", *lines, "spark: the session"])
        code.interact(banner=banner, local={"spark": spark, **rows}, exitmsg="")
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
