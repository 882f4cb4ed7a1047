"""Two reports of one staged result, of which the second fails while there is a file `fail` in its input."""

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("reports", params={"folder": "/data"})
orders = env.from_source(Csv("{{ params.folder }}/orders.csv", schema="id INT, region STRING, price INT"), "orders")
clean = orders.filter("price > 0").name("clean").stage("two reports read it")
clean.key_by("region").aggregate(total="sum(price)").name("sums").sink_to(
    Parquet("{{ params.folder }}/out/by_region")
).name("by_region")
large = clean.filter("price > 2 AND id / 0 IS NULL").name("large")
large.sink_to(Parquet("{{ params.folder }}/out/large")).name("large_orders")
