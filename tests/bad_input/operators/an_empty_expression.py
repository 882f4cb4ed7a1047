from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter(" ").name("paid").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_empty_expression.py: pipeline 'sales' has 1 problem
#   paid: it has an empty expression
#     allowed: Spark SQL
#     declared at pipelines/an_empty_expression.py:5
