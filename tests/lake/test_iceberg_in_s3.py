"""Tables of Iceberg whose files are in an S3 store, and whose catalog is in PostgreSQL."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from tests.harness.object_stores import KEY, SECRET, ObjectServer, object_server
from tests.harness.sinks import Sinks
from tests.lake.conftest import Lake, sold
from tests.lake.dying import die, dying
from tests.lake.one_try import BUCKET, S3_KEY, S3_SECRET, in_bucket

pytestmark = pytest.mark.lake
MINE, THEIRS = (3, "mon", 30), (9, "wed", 90)
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    with object_server(tmp_path_factory.mktemp("store")) as found:
        found.make_bucket(BUCKET)
        yield found


@pytest.fixture
def lake(lake_in_postgres: Lake, server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Return a catalog of another name, whose keys are secrets."""
    monkeypatch.setenv(S3_KEY.variable, KEY)
    monkeypatch.setenv(S3_SECRET.variable, SECRET)
    keys = {"s3.access-key-id": S3_KEY, "s3.secret-access-key": S3_SECRET}
    catalog = {**lake_in_postgres.catalog, **in_bucket(server.endpoint, f"/{next(_NUMBERS)}"), **keys}
    found = replace(lake_in_postgres, name=f"{lake_in_postgres.name}s3", catalog=catalog)
    found.use()
    found.spark.sql(f"CREATE NAMESPACE {found.name}.db")
    found.create("id INT, day STRING, amount INT", partitioned_by="day")
    return found


@pytest.mark.parametrize("after", [False, True], ids=("before the commit", "after the commit"))
@pytest.mark.parametrize("mode", ["append", "overwrite-partitions", "overwrite"])
def test_what_a_driver_that_dies_has_decided_is_published_once_in_s3(
    mode: str, after: bool, lake: Lake, server: ObjectServer, sinks: Sinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(server.requests())
    die(monkeypatch, IcebergTable, "publish", after=after)
    with dying():
        sinks.write(lake.table(), sold(MINE), mode=mode)
    assert lake.rows() == ([MINE] if after else [])
    sinks.write(lake.table(), sold(THEIRS), mode="append", run="r2")
    assert (lake.rows(), lake.refs()) == ([MINE, THEIRS], [])
    written = [line.split()[1] for line in server.requests(since=before) if line.startswith("PUT")]
    assert any(path.endswith(".parquet") for path in written)
    assert any(path.endswith(".metadata.json") for path in written)
    assert not any(SECRET in value for value in dict(lake.spark.sparkContext.getConf().getAll()).values())
