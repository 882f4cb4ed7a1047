from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.key_by("day").aggregate(day="max(day)").sink_to(Parquet("/out/a"))
# graph-compiler validate says:
# pipelines/an_aggregate_named_as_its_key.py: pipeline 'sales' has 1 problem
#   Aggregate: two of its columns are called 'day'
#     hint: Spark treats names that differ only in case as the same
#     declared at pipelines/an_aggregate_named_as_its_key.py:5
