from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").sink_to(Parquet("/out/a")).name("report")
orders.filter("y").sink_to(Parquet("/out/b")).name("report")
# graph-compiler validate says:
# pipelines/two_sinks_of_one_name.py: pipeline 'sales' has 1 problem
#   report: an earlier sink has the same name (pipelines/two_sinks_of_one_name.py:5)
#     hint: a run shows its outputs by the names of sinks: give each its own, .name("…")
#     declared at pipelines/two_sinks_of_one_name.py:6
