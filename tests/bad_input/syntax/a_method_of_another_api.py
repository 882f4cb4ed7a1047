from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.where("amount > 0").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_method_of_another_api.py: pipeline 'a_method_of_another_api' has 1 problem
#   after 'orders': it cannot be loaded: `orders.where("amount > 0").sink_to(Parquet("/out"))` raised AttributeError: 'DataStream' object has no attribute 'where'
#     declared at pipelines/a_method_of_another_api.py:5
