"""Three reports of rows that wait until a file is there, and are computed once."""

from __future__ import annotations

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param
from stock.waiting import waited

env = StreamExecutionEnvironment(
    "shared", params={"input": "/data/sales.csv", "output": "/data", "may_go": "/data/may_go"}
)
sales = env.from_source(Csv("{{ params.input }}", schema="key INT, quantity DOUBLE"), "sales")
priced = (
    sales.rebalance()
    .map_partitions(waited, "key INT, quantity DOUBLE, price DOUBLE", may_go=param("may_go"))
    .set_parallelism(4)
    .name("waited")
)
for name, total in (("totals", "sum(price)"), ("sizes", "count(*)"), ("largest", "max(quantity)")):
    report = priced.key_by("key").aggregate(found=total).name(name)
    report.sink_to(Parquet(f"{{{{ params.output }}}}/{name}")).name(f"{name}_rows")
