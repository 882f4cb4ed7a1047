from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.rename({"a": "c", "b": "C"}).name("renamed").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/two_columns_of_one_name.py: pipeline 'sales' has 1 problem
#   renamed: two of its columns are called 'C'
#     hint: Spark treats names that differ only in case as the same
#     declared at pipelines/two_columns_of_one_name.py:5
