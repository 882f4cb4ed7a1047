from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Csv("/in", schema="a INT", on_schema_change="evolv"), "more").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_schema_policy.py: pipeline 'sales' has 1 problem
#   more: on_schema_change is 'evolv'
#     allowed: fail, evolve and ignore
#     hint: did you mean 'evolve'?
#     declared at pipelines/a_misspelt_schema_policy.py:5
