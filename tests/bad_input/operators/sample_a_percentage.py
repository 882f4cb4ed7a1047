from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sample(10).name("some").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/sample_a_percentage.py: pipeline 'sales' has 1 problem
#   some: its fraction is 10.0, not between 0 and 1
#     allowed: a number from 0 to 1, such as 0.1 for a tenth of the rows
#     declared at pipelines/sample_a_percentage.py:5
