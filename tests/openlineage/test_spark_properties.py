"""Spark properties for OpenLineage's own listener: Airflow's settings for them hold for our tasks, too."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.kubernetes.conftest import operator_of, plain

pytestmark = pytest.mark.openlineage


def test_the_run_of_the_task_is_the_parent_of_its_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.openlineage.plugins.macros import lineage_run_id

    from tests.openlineage.test_sent_lineage import DATE, Instance

    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path))
    operator = operator_of(plain())
    run = SimpleNamespace(logical_date=DATE, run_after=DATE, clear_number=0, conf={})
    instance = Instance(dag_id="sales", task_id="out", map_index=-1, try_number=1, run_id="r", dag_run=run)
    before = dict(operator.conf)
    context: Any = {"ti": instance, "dag_run": run}
    assert operator.with_parent_run(context) == before
    operator._openlineage_inject_parent_job_info = True
    added = dict(operator.with_parent_run(context).items() - before.items())
    assert added["spark.openlineage.parentRunId"] == lineage_run_id(instance)
    assert added["spark.openlineage.parentJobName"] == "sales.out"
    operator.conf = {**before, **added}
    assert operator.with_parent_run(context) == operator.conf, "the provider adds them once"
    assert operator._get_hook()._conf.items() >= added.items()
