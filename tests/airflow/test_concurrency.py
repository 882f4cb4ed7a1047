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
    ],
)
def test_a_target_that_does_not_depend_on_the_run_is_shared(path: str, is_shared: bool) -> None:
    from airflow.sdk import DAG

    from graph_compiler.airflow_backend.concurrency import shared_targets

    env = StreamExecutionEnvironment("p", params={"output": "/out", "kind": "daily"})
    env.from_source(Csv("/in"), "in").sink_to(Parquet(path)).name("out")
    assert shared_targets(compile_pipeline(env.pipeline()), DAG("p").get_template_env()) == (
        ("out",) if is_shared else ()
    )
