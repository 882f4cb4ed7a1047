"""Two regions of a task that read one source see the same files, whatever arrives in between."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.errors import RepeatedReadError
from graph_compiler.spark_runtime.region.task_sources import TaskSources
from graph_compiler.staging.results.manifest_log import ManifestLog
from tests.harness.region_tries import STORE, execution_of, run_try

pytestmark = [pytest.mark.spark, pytest.mark.ci]
_happens: dict[str, Callable[[], None]] = {}


def _computed(rows: DataFrame, region: str) -> DataFrame:
    if (happens := _happens.pop(region, None)) is not None:
        happens()
    return rows


def in_spent(rows: DataFrame) -> DataFrame:
    """Return the rows; before that, what the test asks for happens once, when sources are listed already."""
    return _computed(rows, "spent")


def in_best(rows: DataFrame) -> DataFrame:
    """Do the same in the second region."""
    return _computed(rows, "best")


class Shop:
    """A task of two regions: `spent` counts the orders of customers, `best` joins customers with the counts."""

    def __init__(self, folder: Path, spark: SparkSession, pattern: str) -> None:
        self.folder, self.spark = folder, spark
        self.arrives("one", [1, 2])
        spark.createDataFrame([(1,), (1,), (2,), (3,)], "x int").write.parquet(f"{folder}/orders")
        env = StreamExecutionEnvironment("shop")
        customers = env.from_source(Parquet(f"{folder}/customers{pattern}"), "customers")
        orders = env.from_source(Parquet(f"{folder}/orders"), "orders")
        counts = (
            orders.join(customers, on="x")
            .transform(in_spent)
            .name("spent")
            .stage("dear", same_task=True)
            .key_by("x")
            .aggregate(n="count(*)")
            .transform(in_best)
        )
        customers.join(counts, on="x", how="left").name("best").sink_to(Parquet(f"{folder}/best")).name("best_out")
        compiled = compile_pipeline(env.pipeline())
        self.regions = describe_regions(compiled)
        assert any(edge.reads_source_again for edge in compiled.job_graph.edges)
        assert [region.region_id for region in self.regions] == ["spent", "best_out"]

    def arrives(self, name: str, ids: list[int]) -> None:
        """Let a file of customers arrive, or be written again."""
        rows = self.spark.createDataFrame([(id,) for id in ids], "x int")
        rows.coalesce(1).write.mode("overwrite").parquet(f"{self.folder}/new")
        (file,) = (self.folder / "new").glob("part-*")
        (self.folder / "customers").mkdir(exist_ok=True)
        file.rename(self.folder / "customers" / f"{name}.parquet")

    def tries(self, number: int) -> list[str]:
        """Run the task; return the messages of the failures."""
        return run_try(self.regions, self.folder, number, self.spark)

    def rows(self) -> list[tuple[object, ...]]:
        found = self.spark.read.parquet(f"{self.folder}/best").collect()
        return sorted(tuple(row) for row in found)

    def epochs(self) -> int:
        """Return how often the first region has committed its result."""
        task = execution_of(self.regions[0], self.folder, 0)
        log = ManifestLog(store=STORE, layout=task.layout)
        return len(log.epochs(self.regions[0].results[0].id))


@pytest.fixture(params=["", "/*.parquet"], ids=["folder", "pattern"])
def shop(tmp_path: Path, spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Shop]:
    yield Shop(tmp_path, spark, request.param)
    _happens.clear()


class Listed(Shop):
    """A task of two regions: `spent` joins orders with customers that only its SQL text names."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark = folder, spark
        self.arrives("one", [1, 2])
        spark.createDataFrame([(1,), (1,), (2,), (3,)], "x int").write.parquet(f"{folder}/orders")
        env = StreamExecutionEnvironment("shop")
        orders = env.from_source(Parquet(f"{folder}/orders"), "orders")
        known = f"SELECT o.x FROM {{input}} AS o JOIN parquet.`{folder}/customers` AS c ON o.x = c.x"
        spent = orders.sql(known).name("known").transform(in_spent).name("spent").stage("dear", same_task=True)
        best = spent.key_by("x").aggregate(n="count(*)").transform(in_best).name("best")
        best.sink_to(Parquet(f"{folder}/best")).name("best_out")
        self.regions = describe_regions(compile_pipeline(env.pipeline()))
        assert [region.region_id for region in self.regions] == ["spent", "best_out"]


def test_a_region_runs_again_if_files_that_only_its_sql_names_have_changed(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = Listed(tmp_path, spark)
    for number in (1, 2):
        _happens["best"] = fail
        assert len(listed.tries(number)) == 1
        assert listed.epochs() == 1, "the second try keeps it"
    listed.arrives("two", [3])
    assert listed.tries(3) == []
    assert "'spent' runs again: files that 'known' has read have changed since" in capsys.readouterr().out
    assert listed.epochs() == 2
    assert listed.rows() == [(1, 2), (2, 1), (3, 1)]


class Missing(Shop):
    """A task of two regions: `spent` joins orders with customers that may be missing."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark = folder, spark
        spark.createDataFrame([(1,), (1,), (2,), (3,)], "x int").write.parquet(f"{folder}/orders")
        env = StreamExecutionEnvironment("shop")
        orders = env.from_source(Parquet(f"{folder}/orders"), "orders")
        some = Parquet(f"{folder}/customers", schema="x INT", if_missing="empty")
        known = orders.join(env.from_source(some, "customers"), on="x").name("known")
        spent = known.transform(in_spent).name("spent").stage("dear", same_task=True)
        best = spent.key_by("x").aggregate(n="count(*)").transform(in_best).name("best")
        best.sink_to(Parquet(f"{folder}/best")).name("best_out")
        self.regions = describe_regions(compile_pipeline(env.pipeline()))
        assert [region.region_id for region in self.regions] == ["spent", "best_out"]


def test_a_region_that_has_read_no_files_runs_again_once_there_are_some(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = Missing(tmp_path, spark)
    for number in (1, 2):
        _happens["best"] = fail
        assert len(missing.tries(number)) == 1
        assert missing.epochs() == 1, "the second try keeps it"
    missing.arrives("one", [1, 2])
    assert missing.tries(3) == []
    assert "'spent' runs again: files that 'customers' has read have changed since" in capsys.readouterr().out
    assert missing.rows() == [(1, 2), (2, 1)]


def fail() -> None:
    raise ValueError("not yet")


def test_a_file_that_arrives_between_two_regions_is_read_by_neither(shop: Shop) -> None:
    _happens["spent"] = lambda: shop.arrives("two", [3])
    assert shop.tries(1) == []
    assert shop.rows() == [(1, 2), (2, 1)]


def test_a_file_that_is_written_again_between_them_fails_the_second_and_repeats_the_first(shop: Shop) -> None:
    _happens["best"] = lambda: shop.arrives("one", [1, 2, 3])
    (message,) = shop.tries(1)
    assert "changed while it was read" in message
    assert not (shop.folder / "best").exists()
    assert shop.tries(2) == []
    assert shop.epochs() == 2
    assert shop.rows() == [(1, 2), (2, 1), (3, 1)]


def test_a_region_is_kept_while_its_source_is_unchanged(shop: Shop) -> None:
    _happens["best"] = fail
    assert len(shop.tries(1)) == 1
    assert shop.tries(2) == []
    assert shop.epochs() == 1
    assert shop.rows() == [(1, 2), (2, 1)]


def test_a_file_that_arrives_between_two_tries_is_read_by_both_regions(shop: Shop) -> None:
    _happens["best"] = fail
    assert len(shop.tries(1)) == 1
    shop.arrives("two", [3])
    assert shop.tries(2) == []
    assert shop.epochs() == 2
    assert shop.rows() == [(1, 2), (2, 1), (3, 1)]


def test_a_file_that_arrives_after_a_region_was_kept_is_not_read(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    _happens["best"] = fail
    assert len(shop.tries(1)) == 1
    why_changed = TaskSources.why_changed

    def arrives_then(sources: TaskSources, *arguments: Any) -> str | None:
        found = why_changed(sources, *arguments)
        shop.arrives("two", [3])
        return found

    monkeypatch.setattr(TaskSources, "why_changed", arrives_then)
    assert shop.tries(2) == []
    assert shop.epochs() == 1
    assert shop.rows() == [(1, 2), (2, 1)]


def test_a_shared_source_of_which_spark_lists_nothing_is_refused(spark: SparkSession) -> None:
    connector = Parquet("/in/customers")
    sources = TaskSources((connector,), lambda *_: spark.sql("SHOW TABLES"))
    with pytest.raises(RepeatedReadError, match=r"hint: Parquet.when_read_twice must be 'fixed'"):
        sources.read(connector, spark, None)
