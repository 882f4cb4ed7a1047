from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"parallelism.default": 0})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_option_out_of_range.py: pipeline 'sales' has 1 problem
#   option 'parallelism.default' is '0'
#     allowed: a whole number, from 1 to 32768
#     declared at pipelines/an_option_out_of_range.py:3
