"""Inferred columns are kept between dry runs until a file, the source or a setting changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from graph_compiler import Csv
from graph_compiler.declaration.connectors import Connector
from graph_compiler.spark_runtime.rehearsal.kept_schemas import KeptSchemas

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
