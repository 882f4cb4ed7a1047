from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("a").uid("u").filter("y").name("b").uid("u").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/two_operators_with_one_uid.py: pipeline 'sales' has 1 problem
#   b: its uid 'u' is already used by 'a' (pipelines/two_operators_with_one_uid.py:5)
#     hint: a uid identifies the results of one operator; give each its own
#     declared at pipelines/two_operators_with_one_uid.py:5
