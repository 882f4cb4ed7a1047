"""A PostgreSQL server without tables, for each test."""

import pytest

from tests.harness.postgres import PASSWORD, Postgres


@pytest.fixture
def postgres(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> Postgres:
    """Return the server without any table; its password is where `PASSWORD` is read."""
    monkeypatch.setenv(PASSWORD.variable, server.password)
    server.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return server
