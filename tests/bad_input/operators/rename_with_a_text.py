from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.rename("tailnum").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/rename_with_a_text.py: pipeline 'sales' has 1 problem
#   after 'orders': rename was given names='tailnum'
#     allowed: a mapping of names to text
#     declared at pipelines/rename_with_a_text.py:5
