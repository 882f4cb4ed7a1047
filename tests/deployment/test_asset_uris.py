import pytest

from graph_compiler import Csv, Delta, Iceberg, Jdbc, Parquet, Secret, Table, Values
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.describe.templates import asset_uri, parameters_in

DEFAULTS: dict[str, str | int | float | bool] = {
    "output": "/data/out",
    "bucket": "s3a://lake/raw",
    "days": 3,
    "folder": "/data/in/",
}


@pytest.mark.parametrize(
    ("connector", "uri"),
    [
        (Parquet("/data/orders"), "file:///data/orders"),
        (Parquet("/data/orders/"), "file:///data/orders"),
        (Parquet("file:/data/orders"), "file:///data/orders"),
        (Parquet("file:///data/orders"), "file:///data/orders"),
        (Parquet("{{ params.output }}/delays"), "file:///data/out/delays"),
        (Parquet("{{params['output']}}/delays"), "file:///data/out/delays"),
        (Parquet("/data/orders/day={{ ds }}"), "file:///data/orders"),
        (Parquet("/data/{{ ds }}/orders"), "file:///data/orders"),
        (Parquet("/data/{{ macros.ds_format(ds, '%Y-%m-%d', '%Y/%m') }}/orders"), "file:///data/orders"),
        (Parquet("/data/with space"), "file:///data/with%20space"),
        (Csv("s3a://lake/orders/*.csv"), "s3://lake/orders/*.csv"),
        (Csv("{{ params.bucket }}/orders"), "s3://lake/raw/orders"),
        (Csv("HDFS://name/orders"), "hdfs://name/orders"),
        (Csv("data/orders.csv"), "data/orders.csv"),
        (Csv("{{ var.value.root }}/orders"), None),
        (Csv("s3a://{{ var.value.bucket }}/orders"), None),
        (Csv("{{ params.folder }}/orders"), "file:///data/in/orders"),
        (Csv("s3a://lake//orders"), "s3://lake/orders"),
        (Jdbc("jdbc:sqlserver://db:1433;databaseName=shop", table="orders"), None),
        (Csv("{{ params.unknown }}/orders"), None),
        (Table("shop.orders"), "x-spark-table:///shop/orders"),
        (Iceberg("lake.shop.orders"), "x-iceberg-table:///lake/shop/orders"),
        (Delta("shop.orders"), "x-delta-table:///shop/orders"),
        (Delta("/lake/orders"), "file:///lake/orders"),
        (Delta("hdfs://nn:8020/lake/{{ ds }}"), "hdfs://nn:8020/lake"),
        (Jdbc("jdbc:postgresql://db:5432/shop", table="orders"), "postgresql://db:5432/shop/public/orders"),
        (Jdbc("jdbc:postgresql://db:5432/shop?ssl=true", table='"s"."o"'), "postgresql://db:5432/shop/s/o"),
        (Jdbc("jdbc:mysql://user:word@db/shop", table="orders"), "mysql://db/shop/orders"),
        (Jdbc(Secret("db", "url"), table="orders"), None),
        (Jdbc("jdbc:postgresql://db/shop", query="SELECT 1"), None),
        (Values((("a", 1),), schema="name STRING, n INT"), None),
    ],
    ids=str,
)
def test_an_asset_uri_is_the_place_without_its_templated_part(connector: Connector, uri: str | None) -> None:
    assert asset_uri(connector, DEFAULTS) == uri


def test_an_asset_uri_has_the_parameters_of_its_place() -> None:
    assert parameters_in(Parquet("{{ params.output }}/x/{{ params['days'] }}")) == {"output", "days"}
    assert parameters_in(Parquet("/x/{{ ds }}")) == frozenset()
