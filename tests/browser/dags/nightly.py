"""An airflow dag of another team: its first task fails, so that the pipelines behind it do not start."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, task_group

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.airflow_backend import build_task_group

env = StreamExecutionEnvironment("counted", params={"country": "at"})
rows = env.from_source(Values([("at",)], "c STRING"), "rows").stage("two reports read it")
rows.sink_to(Parquet("/out/{{ params.country }}")).name("report")
other = StreamExecutionEnvironment("other")
other.from_source(Values([(1,)], "n INT"), "numbers").sink_to(Parquet("/out/other")).name("last")


@task_group
def each(country: str) -> None:
    build_task_group(env, params={"country": country})


with DAG("nightly", schedule=None) as dag:
    wait = BashOperator(task_id="wait", bash_command="exit 1")
    wait >> build_task_group(other)
    wait >> each.expand(country=["at", "de"])
