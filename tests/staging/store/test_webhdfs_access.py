"""What an Airflow connection says about a staging root in HDFS."""

from typing import Any

import pytest

from graph_compiler.errors import StagingError
from graph_compiler.staging.store.store_access import StoreConnection
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess


def connection(**fields: Any) -> StoreConnection:
    common: dict[str, Any] = {
        "conn_id": "lake",
        "type": "webhdfs",
        "host": "nn",
        "port": None,
        "login": None,
        "password": None,
        "extra": {},
    }
    return StoreConnection(**common | fields)


@pytest.mark.parametrize(
    ("fields", "access", "port"),
    [
        ({}, HdfsAccess(hosts=("nn",)), 9870),
        ({"host": "a, b", "port": 50070}, HdfsAccess(hosts=("a", "b"), port=50070), 50070),
        ({"login": "etl"}, HdfsAccess(hosts=("nn",), user="etl"), 9870),
        (
            {"extra": {"use_ssl": True, "verify": "/etc/ca.pem"}},
            HdfsAccess(hosts=("nn",), has_tls=True, certificates="/etc/ca.pem"),
            9871,
        ),
        ({"extra": {"use_ssl": False, "verify": True}}, HdfsAccess(hosts=("nn",)), 9870),
    ],
)
def test_what_a_connection_says(fields: dict[str, Any], access: HdfsAccess, port: int) -> None:
    assert HdfsAccess.of(connection(**fields)) == access
    assert access.http_port == port


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"type": "aws"}, "has type 'aws', but the root is in HDFS"),
        ({"host": None}, "has no host"),
        ({"password": "p"}, "has a password: HDFS with Kerberos, or behind a gateway, has not been tried"),
        ({"extra": {"principal": "x"}}, "has principal in its extra"),
        ({"extra": {"use_ssl": "yes"}}, "has use_ssl 'yes', which is neither true nor false"),
        ({"extra": {"use_ssl": 1}}, "has use_ssl 1, which is neither true nor false"),
        ({"extra": {"verify": False}}, "has a verify that is not a file"),
    ],
)
def test_what_is_not_supported_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(StagingError) as refused:
        HdfsAccess.of(connection(**fields))
    assert why in str(refused.value)
    assert "allowed: type 'webhdfs'" in str(refused.value)


def test_the_user_is_the_connections_else_hadoops_variable_else_the_processs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "of_hadoop")
    assert HdfsAccess(user="etl").user_name == "etl"
    assert HdfsAccess().user_name == "of_hadoop"
    monkeypatch.delenv("HADOOP_USER_NAME")
    monkeypatch.setenv("LOGNAME", "me")
    assert HdfsAccess().user_name == "me"


def test_the_same_user_is_spark_s_on_every_host() -> None:
    assert HdfsAccess().environment() == HdfsAccess().spark_settings() == {}
    assert HdfsAccess(user="etl").environment() == {"HADOOP_USER_NAME": "etl"}
    settings = HdfsAccess(user="etl").spark_settings()
    assert set(settings.values()) == {"etl"}
    assert "spark.executorEnv.HADOOP_USER_NAME" in settings
