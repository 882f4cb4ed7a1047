"""A diamond with four staged edges: two regions read what the first stages, and a fourth joins their results.

orders ─▶ cleaned ─┬─▶ by_customer ─┬─▶ joined ─▶ report
            │      └─▶ large ───────┘
            └─▶ rejected
"""

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment


def declare(name: str, *, same_task: bool) -> StreamExecutionEnvironment:
    """Declare it; `same_task`: one Airflow task runs the four regions, instead of one each."""
    env = StreamExecutionEnvironment(name, params={"input": "/in", "output": "/out"})
    orders = env.from_source(Csv("{{ params.input }}/orders.csv", schema="id INT, customer INT, amount INT"), "orders")
    valid = orders.filter("amount IS NOT NULL", rejects="rejected").name("valid")
    cleaned = valid.stage("two regions read it", same_task=same_task)
    by_customer = (
        cleaned.key_by("customer")
        .aggregate(orders="count(*)", total="sum(amount)")
        .name("by_customer")
        .stage("the join reads it", same_task=same_task)
    )
    large = cleaned.filter("amount >= 900").name("large").stage("the join reads it", same_task=same_task)
    large.join(by_customer, on="customer").name("joined").sink_to(Parquet("{{ params.output }}/report"), files=3).name(
        "report"
    )
    valid.get_side_output("rejected").sink_to(Parquet("{{ params.output }}/rejected"), mode="append", files=2).name(
        "rejected"
    )
    return env


env = declare("diamond", same_task=False)
