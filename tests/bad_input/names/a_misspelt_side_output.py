from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
paid = orders.filter("amount > 0", rejects="unpaid").name("paid")
paid.get_side_output("unpayed").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_side_output.py: pipeline 'sales' has 1 problem
#   paid: it has no side output 'unpayed'
#     allowed: unpaid
#     hint: did you mean 'unpaid'?
#     declared at pipelines/a_misspelt_side_output.py:6
