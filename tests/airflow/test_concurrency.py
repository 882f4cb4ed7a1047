import warnings
from datetime import datetime
from typing import Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


@pytest.mark.parametrize(
    ("path", "is_shared"),
    [
        ("/out/daily", True),
        ("{{ params.output }}/daily", True),
        ("{{ var.value.root }}/daily", True),
        ("/out/{{ ds }}", False),
        ("/out/{{ params.kind }}/{{ (logical_date or dag_run.run_after) | ds }}", False),
        ("/out/{% if run_id %}{{ run_id }}{% endif %}", False),
        ("/out/{{ broken", True),
        ("/out/{{ range(3) | join }}", True),
        ("/out/{% macro part() %}a{% endmacro %}{{ part() }}", True),
        ("/out/{% set part = params.kind %}{{ part }}", True),
        ("/out/{% set part = ds %}{{ part }}", False),
    ],
)
def test_a_target_that_is_the_same_in_every_run_is_shared(path: str, is_shared: bool) -> None:
    from airflow.sdk import DAG

    from graph_compiler.airflow_backend.dag.concurrency import shared_targets

    env = StreamExecutionEnvironment("p", params={"output": "/out", "kind": "daily"})
    env.from_source(Csv("/in"), "in").sink_to(Parquet(path)).name("out")
    assert shared_targets(compile_pipeline(env.pipeline()), DAG("p").get_template_env()) == (
        ("out",) if is_shared else ()
    )


def build(path: str, *, catchup: bool, mode: Any = "overwrite") -> Any:
    from graph_compiler.airflow_backend import build_dag

    env = StreamExecutionEnvironment("daily")
    folders = "day" if mode == "overwrite-partitions" else ()
    keys = "day" if mode == "merge" else ()
    sink = env.from_source(Csv("/in"), "in").sink_to(Parquet(path), mode=mode, partition_by=folders, keys=keys)
    sink.name("out")
    return build_dag(env, schedule="@daily", start_date=datetime(2013, 1, 1), catchup=catchup)


def test_catchup_over_an_overwritten_target_warns_and_names_the_sink() -> None:
    with pytest.warns(UserWarning, match="Dag 'daily': Catchup runs .* target of out: ") as caught:
        dag = build("/out/all", catchup=True)
    assert {warning.filename for warning in caught if "Catchup" in str(warning.message)} == {__file__}
    assert "One run at a time: every run writes the same target of out.\n\nCatchup" in dag.doc_md
    assert "each run replaces the rows of the run before it in the target of out" in dag.doc_md


@pytest.mark.parametrize(
    ("path", "catchup", "mode"),
    [
        ("/out/all", False, "overwrite"),
        ("/out/{{ ds }}", True, "overwrite"),
        ("/out/all", True, "append"),
        ("/out/all", True, "overwrite-partitions"),
        ("/out/all", True, "merge"),
    ],
)
def test_catchup_that_loses_nothing_gives_no_warning(path: str, catchup: bool, mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*Catchup")
        dag = build(path, catchup=catchup, mode=mode)
    assert "Catchup" not in dag.doc_md
    assert dag.max_active_runs == (16 if "ds" in path else 1)


def test_catchup_over_the_previous_version_of_a_target_loses_nothing() -> None:
    from graph_compiler.airflow_backend import build_dag

    env = StreamExecutionEnvironment("daily")
    totals = Parquet("/out/totals")
    before = env.from_target(totals, "before", schema="k STRING, total BIGINT")
    before.filter("total > 0").sink_to(totals).name("out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*Catchup")
        dag = build_dag(env, schedule="@daily", start_date=datetime(2013, 1, 1), catchup=True)
    assert dag.max_active_runs == 1


@pytest.mark.parametrize(("limit", "words"), [
    (None, "One run at a time: each reads what is new of orders when it runs."),
    (3, "Of two runs at once, one is retried until the other has published"),
])  # fmt: skip
@pytest.mark.parametrize("what_is_new", [{"only_new": True}, {"unbounded": True}])
def test_runs_that_read_only_what_is_new_wait_for_each_other(
    limit: int | None, words: str, what_is_new: dict[str, Any]
) -> None:
    from graph_compiler.airflow_backend import build_dag

    env = StreamExecutionEnvironment("daily", config={"execution.runtime-mode": "AUTOMATIC"})
    orders = env.from_source(Csv("/in", schema="id INT"), "orders", **what_is_new).uid("orders")
    orders.sink_to(Parquet("/out"), mode="append")
    more: dict[str, Any] = {} if limit is None else {"max_active_runs": limit}
    start = datetime(2013, 1, 1)
    with pytest.warns(UserWarning, match="the first one reads all of orders, and the others find nothing"):
        dag: Any = build_dag(env, schedule="@daily", start_date=start, catchup=True, **more)
    assert dag.max_active_runs == (limit or 1)
    assert words in dag.doc_md
