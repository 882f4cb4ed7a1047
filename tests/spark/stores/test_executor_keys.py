"""Executors get the keys of the driver's process, if it has any and nobody has set others."""

import pytest

from graph_compiler.spark_runtime.stores.hadoop_calls import executor_keys

pytestmark = pytest.mark.spark

MASTER = {"spark.master": "spark://host:7077"}
KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
SETTINGS = {"spark.hadoop.fs.s3a.access.key": "id", "spark.hadoop.fs.s3a.secret.key": "secret"}


@pytest.mark.parametrize(
    ("submitted", "environment", "found"),
    [
        (MASTER, KEYS, SETTINGS),
        (MASTER, KEYS | {"AWS_SESSION_TOKEN": "token"}, SETTINGS | {"spark.hadoop.fs.s3a.session.token": "token"}),
        (MASTER, {"AWS_REGION": "eu-north-1"}, {}),
        (MASTER | {"spark.hadoop.fs.s3a.secret.key": "other"}, KEYS, {}),
        (MASTER | {"spark.hadoop.fs.s3a.aws.credentials.provider": "C"}, KEYS, {}),
        ({"spark.master": "local[2]"}, KEYS, {}),
        ({"spark.master": "yarn"}, KEYS, {}),
    ],
)
def test_keys_of_the_process_are_settings_unless_others_are_set(
    submitted: dict[str, str], environment: dict[str, str], found: dict[str, str]
) -> None:
    assert executor_keys(submitted, environment) == found
