"""Executors that lack something are found before a row moves, with what to do."""

import json

import pytest

from tests.cluster.conftest import ClusterHome, run

pytestmark = pytest.mark.cluster


@pytest.fixture
def sales(cluster_home: ClusterHome) -> dict[str, str]:
    file = cluster_home.cluster.shared / "few_sales.csv"
    file.write_text("key,quantity\n1,2.0\n")
    return {"input": str(file), "output": str(cluster_home.output)}


def test_a_module_that_executors_do_not_have_is_named(cluster_home: ClusterHome, sales: dict[str, str]) -> None:
    said = run(cluster_home, "unprepared", sales, ends_with=1)
    assert "region 'asked_rows': Spark's executors cannot import stock.unprepared" in said
    assert "ModuleNotFoundError: No module named 'duckdb'" in said
    assert f"({cluster_home.cluster.python}) on " in said
    assert not any(cluster_home.output.iterdir())


def test_executors_without_the_named_python_are_told_how_to_get_one(
    cluster_home: ClusterHome, sales: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = cluster_home.cluster.conf() | {"spark.pyspark.python": "/opt/nowhere/python"}
    monkeypatch.setattr(type(cluster_home.cluster), "conf", lambda _: conf)
    said = run(cluster_home, "unprepared", sales, ends_with=1)
    assert "this task has Python functions, and Spark's executors have no /opt/nowhere/python" in said
    assert "hint: set spark.pyspark.python" in said


def test_a_staging_root_that_executors_do_not_see_is_refused(
    cluster_home: ClusterHome, sales: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = cluster_home.folder / "staging"
    monkeypatch.setattr(type(cluster_home), "staging", property(lambda _: own))
    said = run(cluster_home, "unprepared", sales, ends_with=1)
    assert f"staging root {own} is not shared with this worker (executor on 127.0.0." in said
    assert not any(cluster_home.output.iterdir())
    (report,) = own.glob("unprepared/*/tasks/asked_rows/*/report.json")
    assert json.loads(report.read_text())["failure"]["throwable_type"] == "ENVIRONMENT_ERROR"


def test_doctor_asks_the_executors(cluster_home: ClusterHome, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster_home.staging.mkdir(parents=True)
    done = cluster_home.cli("doctor")
    assert "✓ executors           they see the staging root, and have Python 3." in done.stdout
    own = cluster_home.folder / "staging"
    own.mkdir()
    monkeypatch.setattr(type(cluster_home), "staging", property(lambda _: own))
    done = cluster_home.cli("doctor")
    assert done.returncode == 1
    assert f"✗ executors           staging root {own} is not shared with this worker" in done.stdout
    assert not any(own.iterdir())
