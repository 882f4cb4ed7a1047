"""A PostgreSQL server for the tests of a module."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.harness.postgres import JAR, PASSWORD, Postgres, running_postgres


@pytest.fixture(scope="module")
def server(spark: SparkSession) -> Iterator[Postgres]:
    """Start a server, whose driver Spark has."""
    with running_postgres() as server:
        spark.sql(f"ADD JAR {JAR}")
        yield server


@pytest.fixture
def postgres(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> Postgres:
    """Return the server without any table; its password is where `PASSWORD` is read."""
    monkeypatch.setenv(PASSWORD.variable, server.password)
    server.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return server
