from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.key_by("customer").aggregate(["count(*)"]).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/aggregates_in_a_list.py: pipeline 'sales' has 1 problem
#   after 'orders': aggregate was given aggregates=['count(*)']
#     allowed: a mapping of names to text
#     declared at pipelines/aggregates_in_a_list.py:5
