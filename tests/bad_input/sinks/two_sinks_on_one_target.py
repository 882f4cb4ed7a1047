from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").sink_to(Parquet("/out/{{ ds }}"), mode="append").name("a")
orders.filter("y").sink_to(Parquet("file:///out/{{ ds }}/"), mode="append").name("b")
# graph-compiler validate says:
# pipelines/two_sinks_on_one_target.py: pipeline 'sales' has 1 problem
#   b: it writes /out/{{ ds }}, and 'a' writes /out/{{ ds }} (pipelines/two_sinks_on_one_target.py:5)
#     hint: give each its own target; union(…) combines two streams into one sink
#     declared at pipelines/two_sinks_on_one_target.py:6
