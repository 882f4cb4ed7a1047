from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").set_parallelism(True).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_truth_value_for_a_number.py: pipeline 'sales' has 1 problem
#   after 'Filter': set_parallelism was given parallelism=True
#     allowed: a whole number
#     declared at pipelines/a_truth_value_for_a_number.py:5
