from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.where("amount > 0").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_method_of_another_api.py: pipeline 'sales' has 1 problem
#   after 'orders': a stream has no 'where': that is PySpark's
#     hint: `filter("amount > 10")`
#     declared at pipelines/a_method_of_another_api.py:5
