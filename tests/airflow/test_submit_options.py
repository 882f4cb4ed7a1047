"""What a slot sharing group becomes on the command line of spark-submit."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.deployment.targets.submit_settings import UNDECLARED, SubmitSettings

if TYPE_CHECKING:
    from airflow.sdk import DAG

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
BIG = SlotSharingGroup(
    "big",
    driver_memory="4g",
    driver_cores=2,
    executor_memory="8g",
    executor_cores=4,
    executor_instances=3,
    conf={"spark.ui.enabled": True, "spark.task.cpus": 2},
)


def dag_of(group: str | SlotSharingGroup, **default_args: Any) -> "DAG":
    from graph_compiler.airflow_backend import build_dag

    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in"), "in").slot_sharing_group(group)
    rows.filter("x").name("f").slot_sharing_group("other").sink_to(Parquet("/out")).name("out")
    return build_dag(env, schedule=None, start_date=datetime(2013, 1, 1), default_args=default_args)


def command(dag: "DAG", task_id: str) -> list[str]:
    """Return spark-submit's options as the provider would pass them, without those of every application."""
    task: Any = dag.get_task(task_id)
    words = task._get_hook()._build_spark_submit_command("app.py")
    pairs = list(zip(words[1:-1:2], words[2::2], strict=True))
    common = ("--master", "--name", "--deploy-mode")
    return [f"{option} {value}" for option, value in pairs if option not in common]


def test_every_setting_reaches_spark_submit_and_the_groups_conf_wins_over_the_installations() -> None:
    assert sorted(command(dag_of(BIG), "in")) == [
        "--conf spark.driver.cores=2",
        "--conf spark.sql.shuffle.partitions=8",
        "--conf spark.task.cpus=2",
        "--conf spark.ui.enabled=true",
        "--driver-memory 4g",
        "--executor-cores 4",
        "--executor-memory 8g",
        "--num-executors 3",
        "--total-executor-cores 12",
    ]


@pytest.mark.parametrize("group", ["big", SlotSharingGroup("big")])
def test_a_group_without_settings_uses_the_installations(group: str | SlotSharingGroup) -> None:
    dag = dag_of(group)
    installation = ["--conf spark.ui.enabled=false", "--conf spark.sql.shuffle.partitions=8"]
    assert command(dag, "in") == command(dag, "out") == installation


def test_each_task_has_its_group_and_default_args_fill_the_rest() -> None:
    dag = dag_of(SlotSharingGroup("big", executor_instances=2), driver_memory="1g")
    assert command(dag, "in")[-2:] == ["--num-executors 2", "--driver-memory 1g"]
    assert command(dag, "out")[-1] == "--driver-memory 1g"
    assert not any("executor" in option for option in command(dag, "out"))


def test_a_groups_setting_overrides_the_installations() -> None:
    from graph_compiler.airflow_backend.provider.submit_operator import submit_options

    installation = {"spark.driver.memory": "1g", "spark.ui.enabled": "false"}
    where = SubmitSettings(profile=SlotSharingGroup("g", driver_memory="2g"))
    assert submit_options(where, installation) == {"conf": {"spark.ui.enabled": "false"}, "driver_memory": "2g"}
    assert submit_options(UNDECLARED, installation) == {"conf": installation}
