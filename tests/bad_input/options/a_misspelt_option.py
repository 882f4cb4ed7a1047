from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"paralelism.default": 2})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_option.py: pipeline 'sales' has 1 problem
#   there is no option 'paralelism.default'
#     allowed: parallelism.default and others; graph-compiler options lists all
#     hint: did you mean 'parallelism.default'?
#     declared at pipelines/a_misspelt_option.py:3
