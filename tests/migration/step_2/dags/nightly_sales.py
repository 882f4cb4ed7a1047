"""The sales of a day: a pipeline, and a mail."""

import os
from datetime import datetime, timedelta
from decimal import Decimal

from airflow.providers.smtp.operators.smtp import EmailOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.sensors.filesystem import FileSensor
from airflow.sdk import DAG, task

from graph_compiler.airflow_backend import build_task_group
from pipelines.sales import env as sales

SHOP = os.environ.get("SHOP_DATA", "/data/shop")


def note_failure(context):
    with open(f"{SHOP}/failures.txt", "a") as notes:
        notes.write(f"{context['dag_run'].run_id} failed\n")


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
    reports = build_task_group(sales, params={"shop": SHOP, "top": 2}, default_args={"pool": "spark"})

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

    wait_for_orders >> reports >> revenue
    mail_or_not(revenue) >> [mail, no_sales]
