from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
rate = 1 / 0
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_module_that_raises.py: pipeline 'a_module_that_raises' has 1 problem
#   it cannot be loaded: `rate = 1 / 0` raised ZeroDivisionError: division by zero
#     declared at pipelines/a_module_that_raises.py:5
