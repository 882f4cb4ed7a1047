from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"), mode="apend").name("report")
# graph-compiler validate says:
# pipelines/a_misspelt_sink_mode.py: pipeline 'sales' has 1 problem
#   after 'orders': there is no sink mode 'apend'
#     allowed: append, overwrite, overwrite-partitions, error-if-exists and merge
#     hint: did you mean 'append'?
#     declared at pipelines/a_misspelt_sink_mode.py:5
