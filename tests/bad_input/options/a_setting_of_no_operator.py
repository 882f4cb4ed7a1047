from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.rebalance().set_parallelism(4).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_setting_of_no_operator.py: pipeline 'sales' has 1 problem
#   after 'orders': parallelism can be set on an operator only; rebalance adds none
#     hint: set it on the operator before or after it
#     declared at pipelines/a_setting_of_no_operator.py:5
