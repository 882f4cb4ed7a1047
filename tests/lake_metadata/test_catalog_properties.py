"""Properties of a catalog by Iceberg's names in Java, as pyiceberg has them."""

from urllib.parse import unquote, urlsplit

import pytest

from graph_compiler.lake_metadata.catalog_properties import catalog_kind, properties_in_settings, pyiceberg_properties
from graph_compiler.lake_metadata.table_state import NotAskedError

JDBC = {"type": "jdbc", "uri": "jdbc:postgresql://db:5433/lake", "jdbc.user": "etl", "jdbc.password": "p@ss/w rd"}


def test_a_catalog_in_postgres_is_never_created_or_altered() -> None:
    found = pyiceberg_properties({**JDBC, "jdbc.schema-version": "V1", "s3.endpoint": "http://s3", "io-impl": "x.S3"})
    assert found.pop("uri") == "postgresql+psycopg2://etl:p%40ss%2Fw%20rd@db:5433/lake?connect_timeout=5"
    assert found == {"type": "sql", "init_catalog_tables": "false", "schema_version": "v0", "s3.endpoint": "http://s3"}


def test_parameters_of_the_connection_are_passed_on() -> None:
    uri = "jdbc:postgresql://db/lake?user=etl&sslmode=require&currentSchema=meta&password=x"
    parts = urlsplit(pyiceberg_properties({"type": "jdbc", "uri": uri})["uri"])
    assert (parts.username, parts.password, parts.hostname) == ("etl", "x", "db")
    assert unquote(parts.query) == "sslmode=require&connect_timeout=5&options=-csearch_path=meta"


def test_a_catalog_behind_rest_has_the_same_properties() -> None:
    given = {"type": "rest", "uri": "http://c", "token": "t", "header.X-A": "1", "client.region": "eu", "io-impl": "x"}
    assert pyiceberg_properties(given) == {key: value for key, value in given.items() if key != "io-impl"}
    given = {"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", "uri": "http://c"}
    assert pyiceberg_properties(given) == {"type": "rest", "uri": "http://c"}


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({}, "the properties of its catalog are not known here: they are in Spark's own settings"),
        ({"type": "glue"}, "its catalog is of type glue; only jdbc, rest and hadoop are asked"),
        ({"uri": "x"}, "its catalog is without a type; only"),
        ({"catalog-impl": "com.Own"}, "its catalog is of type com.Own; only"),
        ({**JDBC, "uri": "jdbc:mysql://db/lake"}, "its catalog's uri is of another form; only jdbc:postgresql"),
        ({**JDBC, "uri": "jdbc:postgresql://one,two/lake"}, "its catalog's uri is of another form; only"),
        ({**JDBC, "jdbc.socketFactory": "p@ss/w rd"}, "its catalog's connection has socketFactory, which is not"),
    ],
)
def test_what_has_no_counterpart_is_a_reason_without_values(properties: dict[str, str], words: str) -> None:
    with pytest.raises(NotAskedError) as refusal:
        pyiceberg_properties(properties)
    assert str(refusal.value).startswith(words)
    assert "p@ss" not in str(refusal.value)
    assert "/lake" not in str(refusal.value)


def test_properties_are_found_in_the_settings_of_spark() -> None:
    settings = {"spark.sql.catalog.lake": "x", "spark.sql.catalog.lake.type": "hadoop", "spark.sql.catalog.lake2.a": ""}
    assert properties_in_settings(settings, "lake") == {"type": "hadoop"}
    assert catalog_kind({"type": "hadoop"}) == "hadoop"
