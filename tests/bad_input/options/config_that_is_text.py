from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config="parallelism.default=2")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/config_that_is_text.py: pipeline 'sales' has 1 problem
#   config is 'parallelism.default=2'
#     allowed: a mapping: {"parallelism.default": 2}
#     declared at pipelines/config_that_is_text.py:3
