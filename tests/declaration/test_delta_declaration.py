"""What is refused of a declared Delta table."""

import pytest

from graph_compiler import Delta, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.deployability import check_deployable
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.tested_versions import DELTA, ICEBERG


def messages(connector: Delta) -> list[str]:
    return [problem.message for problem in connector.problems()]


@pytest.mark.parametrize("path", ["s3a://lake/t", "s3://lake/t", "gs://lake/t", "abfss://lake@x/t", "S3A://lake/t"])
def test_an_object_store_is_refused(path: str) -> None:
    (message,) = messages(Delta(path))
    assert "one of two commits would be lost" in message
    (rendered,) = Delta("{{ params.t }}").rendering_problems({"path": path})
    assert rendered.message == message


@pytest.mark.parametrize(
    "path", ["/lake/t", "file:///lake/t", "hdfs://name:8020/t", "{{ params.t }}", "shop.orders", "lake.shop.orders"]
)
def test_other_places_are_allowed(path: str) -> None:
    assert messages(Delta(path)) == []


@pytest.mark.parametrize("path", ["lake/t", "orders", "shop.orders.parquet.old", "./shop.orders", "shop.1", "shop."])
def test_what_is_neither_a_path_nor_a_name_is_refused(path: str) -> None:
    (message,) = messages(Delta(path))
    assert "a relative path" in message


def test_names_of_catalogs_have_no_case() -> None:
    assert Delta("shop.Orders").place_key() == Delta("Shop.orders").place_key() != Delta("/shop/orders").place_key()
    assert Delta("shop.orders").why_one_writer() is None, "only the catalog knows where it is"


@pytest.mark.parametrize("version", [-1, "3"])
def test_a_version_is_a_number(version: object) -> None:
    assert any("version is" in one for one in messages(Delta("/lake/t", version=version)))  # type: ignore[arg-type]


def test_what_is_for_sources_of_delta_is_not_for_sinks() -> None:
    assert messages(Delta("/lake/t", version=1, timestamp="2013-01-01")) == ["it has version and timestamp"]
    assert "version is for sources" in str(Delta("/lake/t", version=0).why_not_writable())
    assert "timestamp is for sources" in str(Delta("/lake/t", timestamp="2013-01-01").why_not_writable())
    assert "partitioned_by is for sinks" in str(Delta("/lake/t", partitioned_by=("day",)).why_not_readable())
    assert messages(Delta("/lake/t", partitioned_by=("", "day"))) == ["partitioned_by has ''"]


def test_files_and_a_table_do_not_share_a_folder() -> None:
    env = StreamExecutionEnvironment("lake")
    rows = env.from_source(Parquet("/in"), "in")
    rows.sink_to(Delta("/lake/t"), mode="append").name("table")
    rows.sink_to(Parquet("file:///lake/t/part")).name("files")
    with pytest.raises(InvalidPipelineError, match="'table' writes /lake/t"):
        compile_pipeline(env.pipeline())


@pytest.mark.parametrize(("found", "refused"), [("4.3.0", True), ("4.2.1", False), ("4.1.4", False)])
def test_a_spark_that_delta_does_not_run_on_is_refused(
    found: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_compiler.deployment.describe.deployability.installed_version", lambda _: found)
    env = StreamExecutionEnvironment("lake")
    env.from_source(Parquet("/in"), "in").sink_to(Delta("/lake/t"), mode="append").name("table")
    compiled = compile_pipeline(env.pipeline())
    if not refused:
        return check_deployable(compiled)
    with pytest.raises(InvalidPipelineError, match=r"no Delta Lake that is tested runs on Spark 4\.3"):
        check_deployable(compiled)
    return None


def test_the_hint_names_a_spark_for_all_formats_of_a_pipeline() -> None:
    assert ">=4.2" in DELTA.hint()
    assert ">=4.1" in DELTA.hint(ICEBERG, DELTA)
    assert ">=4.1" in ICEBERG.hint(ICEBERG, DELTA)
