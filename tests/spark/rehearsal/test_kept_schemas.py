"""Inferred columns are kept between dry runs until a file, the source or a setting changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector, FileConnector
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.jvm_settings import RESIDENT
from graph_compiler.spark_runtime.connectors import file_source, read_source
from graph_compiler.spark_runtime.connectors.source import infer_anew
from graph_compiler.spark_runtime.rehearsal.kept_schemas import KeptSchemas
from tests.harness.region_tries import execution_of

pytestmark = pytest.mark.spark
SCHEMA = StructType([StructField("ein Name", IntegerType(), nullable=False)])


class Inferred:
    """Counts how often columns are inferred."""

    def __init__(self, file: Path) -> None:
        """Start with none."""
        self.file, self.times = file, 0

    def of(self, connector: Connector, settings: str = "") -> int:
        """Return how often columns were inferred so far; each look is by another process."""
        assert KeptSchemas(self.file, settings).of(connector, self._infer) == SCHEMA
        return self.times

    def _infer(self) -> StructType:
        self.times += 1
        return SCHEMA


@pytest.fixture
def inferred(tmp_path: Path) -> Inferred:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a\n1\n")
    return Inferred(tmp_path / "kept" / "schemas.json")


def test_columns_are_inferred_once_until_something_changes(inferred: Inferred, tmp_path: Path) -> None:
    folder, file = Csv(f"{tmp_path}/in"), Csv(f"{tmp_path}/in/a.csv")
    assert [inferred.of(folder), inferred.of(folder)] == [1, 1]
    assert [inferred.of(file), inferred.of(file), inferred.of(folder)] == [2, 2, 2]
    assert inferred.of(folder, "another setting") == 3
    assert inferred.of(Csv(f"{tmp_path}/in", options={"sep": ";"})) == 4
    (tmp_path / "in" / "b.csv").write_text("a\n2\n")
    assert [inferred.of(folder), inferred.of(file)] == [5, 5]
    (tmp_path / "in" / "a.csv").write_text("a\n12\n")
    assert [inferred.of(file), inferred.of(folder), inferred.of(folder)] == [6, 7, 7]


def test_what_is_not_known_here_is_inferred_each_time(inferred: Inferred, tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "days").symlink_to(tmp_path / "in")
    for path in (f"{tmp_path}/in/*.csv", "s3a://lake/in", f"{tmp_path}/nothing", f"{tmp_path}/linked"):
        before = inferred.times
        assert [inferred.of(Csv(path)), inferred.of(Csv(path))] == [before + 1, before + 2]
    assert not inferred.file.exists()


@pytest.mark.parametrize("kind", [Csv, Json])
def test_rows_are_read_with_the_columns_that_were_inferred_before(
    kind: type[Connector], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = {
        Csv: "id,at,amount,ok,text\n1,2024-01-01 10:00:00,1.50,true,a\n2,2024-01-02 11:30:00,,false,\n",
        Json: '{"id": 1, "at": "2024-01-01", "nested": {"a": [1.5, null]}}\n{"id": 2, "text": "b"}\n',
    }[kind]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text(text)
    connector = kind(f"{tmp_path}/in")  # type: ignore[call-arg]  # both have a path
    inferred: list[Connector] = []
    infer = file_source._inferred_columns

    def counting(connector: FileConnector, session: SparkSession) -> StructType:
        inferred.append(connector)
        return infer(connector, session)

    monkeypatch.setattr(file_source, "_inferred_columns", counting)
    kept = KeptSchemas(tmp_path / "kept.json", True)
    plain, first, second = (read_source(connector, spark, known=known) for known in (infer_anew, kept.of, kept.of))
    assert len(inferred) == 2
    assert plain.schema == first.schema == second.schema
    assert sorted(map(str, plain.collect())) == sorted(map(str, second.collect()))


def test_a_command_that_is_not_repeated_keeps_nothing(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("sales")
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    (region,) = describe_pipeline(compile_pipeline(env.pipeline())).regions
    task = execution_of(region, tmp_path, 1)
    assert KeptSchemas.of_repeated(tmp_path / "request.json", task, {}, from_all_lines=True) is None
    found = [
        KeptSchemas.of_repeated(tmp_path / "request.json", task, {RESIDENT: "1"}, from_all_lines=whole)
        for whole in (True, False)
    ]
    assert found[0] is not None
    assert found[0] != found[1]
