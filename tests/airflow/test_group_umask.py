"""What a task does so that every user and every host can use its staging root."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]
UMASK = "spark.hadoop.fs.permissions.umask-mode"


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> "SparkSubmitHook":
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local"}')
    return SparkSubmitHook()


@pytest.mark.parametrize(
    ("mode", "settings", "found"),
    [
        (0o700, {}, {}),
        (0o2775, {}, {}),
        (0o2770, {}, {UMASK: "002"}),
        (0o2770, {UMASK: "007"}, {UMASK: "007"}),
    ],
)
def test_spark_has_a_umask_for_the_group_of_the_root(
    mode: int,
    settings: dict[str, str],
    found: dict[str, str],
    hook: "SparkSubmitHook",
    tmp_path: Path,
) -> None:
    from graph_compiler.airflow_backend.task.shared_root import pass_umask

    tmp_path.chmod(mode)
    hook._conf |= settings
    pass_umask(hook, str(tmp_path))
    assert hook._conf == found
