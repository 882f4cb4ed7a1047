"""What an Airflow connection says about the staging root's store."""

from typing import Any

import pytest

from graph_compiler.errors import StagingError
from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.staging.store.store_access import StoreConnection


def connection(login: str | None, password: str | None, extra: dict[str, Any]) -> StoreConnection:
    return StoreConnection(
        conn_id="lake", type="aws", host=None, port=None, login=login, password=password, extra=extra
    )


@pytest.mark.parametrize(
    ("login", "password", "extra", "access"),
    [
        (None, None, {}, S3Access()),
        ("k", "s", {}, S3Access(access_key="k", secret_key="s")),
        (
            None,
            None,
            {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_session_token": "t"},
            S3Access(access_key="k", secret_key="s", token="t"),
        ),
        (
            "k",
            "s",
            {"endpoint_url": "http://minio:9000"},
            S3Access(access_key="k", secret_key="s", endpoint="http://minio:9000", is_path_style=True),
        ),
        (
            None,
            None,
            {"region_name": "eu-central-1", "config_kwargs": {"s3": {"addressing_style": "virtual"}}},
            S3Access(region="eu-central-1", is_path_style=False),
        ),
    ],
)  # fmt: skip
def test_a_connection_is_read(login: str | None, password: str | None, extra: dict[str, Any], access: S3Access) -> None:
    assert S3Access.of(connection(login, password, extra)) == access


@pytest.mark.parametrize(
    ("login", "extra", "words"),
    [
        (None, {"role_arn": "arn:…"}, "has role_arn in its extra"),
        ("k", {}, "has only one of login and password"),
        (None, {"config_kwargs": {"s3": {"addressing_style": "odd"}}}, "has addressing_style 'odd'"),
    ],
)  # fmt: skip
def test_what_would_be_ignored_is_refused(login: str | None, extra: dict[str, Any], words: str) -> None:
    with pytest.raises(StagingError, match=words):
        S3Access.of(connection(login, None, extra))


def test_spark_gets_places_as_settings_and_keys_as_variables() -> None:
    access = S3Access(endpoint="http://minio:9000", is_path_style=True, access_key="k", secret_key="hidden")
    assert access.spark_settings() == {
        "spark.hadoop.fs.s3a.endpoint": "http://minio:9000",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    assert access.environment() == {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "hidden"}
    assert "hidden" not in repr(access)
    assert S3Access().spark_settings() == S3Access().environment() == {}
