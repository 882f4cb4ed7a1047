"""The names of datasets, compared with OpenLineage's own helpers."""

import pytest

from graph_compiler.staging.attempts.attempt_lineage import DatasetName

pytestmark = pytest.mark.openlineage


def test_names_are_those_of_openlineage() -> None:
    from openlineage.client.naming import dataset

    own = {
        "file:///data/out": dataset.LocalFileSystem(path="/data/out"),
        "file://host/data/out": dataset.RemoteFileSystem(host="host", path="/data/out"),
        "s3://lake/data/out": dataset.S3(bucket_name="lake", object_key="data/out"),
        "gs://lake/data/out": dataset.GCS(bucket_name="lake", object_key="data/out"),
        "hdfs://nn:8020/out": dataset.HDFS(namenode_host="nn", namenode_port="8020", path="/out"),
        "abfss://c@s.dfs.core.windows.net/out": dataset.ABFSS(container="c", service="s", path="out"),
        "postgresql://db:5432/shop/sales/orders": dataset.Postgres(
            host="db", port="5432", database="shop", schema="sales", table="orders"
        ),
        "mysql://db:3306/shop/orders": dataset.MySQL(host="db", port="3306", database="shop", table="orders"),
    }
    assert {uri: DatasetName.of_uri(uri) for uri in own} == {
        uri: DatasetName(namespace=named.get_namespace(), name=named.get_name()) for uri, named in own.items()
    }


@pytest.mark.parametrize("uri", ["file:///data/out", "file:///data"])
def test_files_are_named_as_airflow_names_its_assets(uri: str) -> None:
    from airflow.providers.common.compat.openlineage.utils.utils import translate_airflow_asset
    from airflow.sdk import Asset

    named = translate_airflow_asset(Asset(uri), None)
    assert named is not None
    found = DatasetName.of_uri(uri)
    assert (found.namespace, found.name) == (named.namespace, named.name)
