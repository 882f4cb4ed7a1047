from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Csv("/in", schema=""), "more").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_schema_that_is_empty.py: pipeline 'sales' has 1 problem
#   more: its schema is empty
#     allowed: Spark DDL: carrier STRING NOT NULL, delay INT
#     declared at pipelines/a_schema_that_is_empty.py:5
