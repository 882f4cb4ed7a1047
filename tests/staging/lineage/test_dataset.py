"""The names of datasets, as OpenLineage's documentation of naming has them."""

import pytest

from graph_compiler import Csv, Delta, Iceberg, Jdbc, Kafka, Parquet, Table
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.describe.templates import asset_uri
from graph_compiler.staging.attempts.attempt_lineage import DatasetName


@pytest.mark.parametrize(
    ("connector", "namespace", "name"),
    [
        (Parquet("/data/out/delays"), "file", "/data/out/delays"),
        (Parquet("/data/out/day={{ ds }}"), "file", "/data/out"),
        (Parquet("/data/{{ params.where }}/delays"), "file", "/data/here/delays"),
        (Csv("/data/two words/ü"), "file", "/data/two words/ü"),
        (Csv("file://host/data"), "file", "/host/data"),
        (Csv("in/flights.csv"), "file", "in/flights.csv"),
        (Parquet("s3a://lake/out/delays"), "s3://lake", "out/delays"),
        (Parquet("s3://lake"), "s3://lake", "/"),
        (Parquet("gs://lake/out"), "gs://lake", "out"),
        (Parquet("abfss://c@s.dfs.example/out"), "abfss://c@s.dfs.example", "out"),
        (Parquet("hdfs://nn:8020/out"), "hdfs://nn:8020", "/out"),
        (
            Jdbc("jdbc:postgresql://db:5432/shop?user=me", table="sales.orders"),
            "postgres://db:5432",
            "shop.sales.orders",
        ),
        (Jdbc("jdbc:postgresql://db:5432/shop", table="orders"), "postgres://db:5432", "shop.public.orders"),
        (Jdbc("jdbc:mysql://db:3306/shop", table="orders"), "mysql://db:3306", "shop.orders"),
        (Table("shop.orders"), "spark_catalog", "shop.orders"),
        (Iceberg("lake.shop.orders"), "lake", "shop.orders"),
        (Delta("/lake/orders"), "file", "/lake/orders"),
        (Kafka("orders", bootstrap_servers="broker:9092"), "kafka://broker:9092", "orders"),
    ],
)
def test_a_place_has_the_name_that_others_give_it(connector: Connector, namespace: str, name: str) -> None:
    uri = asset_uri(connector, {"where": "here"})
    assert uri is not None
    assert DatasetName.of_uri(uri) == DatasetName(namespace=namespace, name=name)


def test_what_lies_within_a_place_is_of_the_same_namespace() -> None:
    root = DatasetName(namespace="s3://lake", name="/")
    assert root.within("p", "r").name == "/p/r"
    assert DatasetName(namespace="file", name="/staging/").within("p").name == "/staging/p"
