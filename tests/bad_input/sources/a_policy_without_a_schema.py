from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Csv("/in", on_schema_change="ignore"), "more").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_policy_without_a_schema.py: pipeline 'sales' has 1 problem
#   more: on_schema_change is 'ignore', but no schema is declared
#     hint: declare schema=, or leave it out
#     declared at pipelines/a_policy_without_a_schema.py:5
