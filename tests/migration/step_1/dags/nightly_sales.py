"""The sales of a day: a pipeline, three scripts of Spark, and a mail."""

import os
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.smtp.operators.smtp import EmailOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.sensors.filesystem import FileSensor
from airflow.sdk import DAG, task

from graph_compiler.airflow_backend import build_task_group
from pipelines.sales import env as sales

SHOP = os.environ.get("SHOP_DATA", "/data/shop")
SCRIPTS = Path(__file__).parents[1] / "scripts"
DAY = "day={{ ds }}"


def note_failure(context):
    with open(f"{SHOP}/failures.txt", "a") as notes:
        notes.write(f"{context['dag_run'].run_id} failed\n")


def script(name, **arguments):
    flags = [part for key, value in arguments.items() for part in (f"--{key}", str(value))]
    return SparkSubmitOperator(
        task_id=name,
        application=f"{SCRIPTS}/{name}.py",
        application_args=flags,
        py_files=f"{SCRIPTS}/shop_common.py",
        conn_id="spark_default",
        conf={"spark.sql.shuffle.partitions": "8"},
        pool="spark",
    )


with DAG(
    "nightly_sales",
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"owner": "sales", "retries": 1, "retry_delay": timedelta(seconds=30)},
    on_failure_callback=note_failure,
):
    wait_for_orders = FileSensor(
        task_id="wait_for_orders",
        filepath=SHOP + "/in/orders/{{ ds }}.csv",
        poke_interval=5,
        timeout=float(os.environ.get("SHOP_PATIENCE", "7200")),
        retries=0,
    )
    enrich = build_task_group(sales, params={"shop": SHOP}, default_args={"pool": "spark"})
    reports = [
        script("daily_revenue", enriched=f"{SHOP}/out/enriched/{DAY}", revenue=f"{SHOP}/out/revenue/{DAY}"),
        script("customer_ranking", enriched=f"{SHOP}/out/enriched/{DAY}", ranking=f"{SHOP}/out/ranking/{DAY}", top=2),
        script("order_history", enriched=f"{SHOP}/out/enriched/{DAY}", history=f"{SHOP}/out/history", day="{{ ds }}"),
    ]

    @task
    def total(day):
        from pyarrow import parquet

        rows = parquet.read_table(f"{SHOP}/out/revenue/day={day}").to_pylist()
        return str(sum((row["revenue"] for row in rows), Decimal(0)))

    @task.branch
    def mail_or_not(revenue):
        return "mail" if Decimal(revenue) else "no_sales"

    revenue = total("{{ ds }}")
    mail = EmailOperator(
        task_id="mail",
        to="sales@shop.example",
        subject="Sales of {{ ds }}",
        html_content="Revenue: {{ ti.xcom_pull(task_ids='total') }}",
    )
    no_sales = EmptyOperator(task_id="no_sales")

    wait_for_orders >> enrich >> reports >> revenue
    mail_or_not(revenue) >> [mail, no_sales]
