from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.with_columns(rate=0.2, net="amount * 0.8").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_expression_that_is_a_number.py: pipeline 'sales' has 1 problem
#   after 'orders': with_columns was given rate=0.2
#     allowed: text
#     declared at pipelines/an_expression_that_is_a_number.py:5
