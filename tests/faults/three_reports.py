"""Three reports of the same joined orders, which are computed once for them.

orders ─▶ by customer ─┐          ┌─▶ by_class
   └───────────────────┴─▶ known ─┼─▶ by_amount
                                  └─▶ largest
"""

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("three_reports", params={"input": "/in", "output": "/out"})
orders = env.from_source(Csv("{{ params.input }}/orders.csv", schema="id INT, customer INT, amount INT"), "orders")
customers = orders.key_by("customer").aggregate(most="max(amount)").name("customers")
known = orders.with_columns(class_="customer % 3").join(customers, on="customer").name("known")
for name, key, totals in (
    ("by_class", "class_", {"orders": "count(*)", "total": "sum(amount)"}),
    ("by_amount", "amount", {"orders": "count(*)", "customers": "count(DISTINCT customer)"}),
    ("largest", "most", {"orders": "count_if(amount = most)", "first": "min(id)"}),
):
    report = known.key_by(key).aggregate(**totals).name(f"{name}_totals")
    report.sink_to(Parquet(f"{{{{ params.output }}}}/{name}"), files=2).name(name)
