"""The 14 steps declared with the functions of `steps.py` as they are; each step is one operator of its name."""

from __future__ import annotations

from benchmarks.peers import steps
from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("peers_functions", params={"input": "/data", "output": "/out"})

orders = env.from_source(Parquet("{{ params.input }}/orders"), "read_orders")
customers = env.from_source(Parquet("{{ params.input }}/customers"), "read_customers")
products = env.from_source(Parquet("{{ params.input }}/products"), "read_products")

clean_orders = orders.transform(steps.clean_orders).name("clean_orders")
clean_customers = customers.transform(steps.clean_customers).name("clean_customers")
clean_products = products.transform(steps.clean_products).name("clean_products")

with_customers = clean_orders.connect(clean_customers).transform(steps.enrich_customers).name("enrich_customers")
enriched = with_customers.connect(clean_products).transform(steps.enrich_products).name("enrich_products")

customer_stats = enriched.transform(steps.customer_stats).name("customer_stats")
product_daily = enriched.transform(steps.product_daily).name("product_daily")
top_products = product_daily.transform(steps.top_products).name("top_products")

for stream, sink in (
    (customer_stats, "sink_customer_stats"),
    (product_daily, "sink_product_daily"),
    (top_products, "sink_top_products"),
):
    stream.sink_to(Parquet(f"{{{{ params.output }}}}/{sink}")).name(sink)
