from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
amount = 3
orders.filter(amount > 1).name("paid").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/filter_by_a_python_expression.py: pipeline 'sales' has 1 problem
#   after 'orders': filter was given condition=True
#     allowed: text
#     declared at pipelines/filter_by_a_python_expression.py:6
