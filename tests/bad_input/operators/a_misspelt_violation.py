from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.expect("paid", "amount > 0", on_violation="fails").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_violation.py: pipeline 'sales' has 1 problem
#   after 'orders': contract 'paid' has on_violation='fails'
#     allowed: warn, drop and fail; or to="tag"
#     hint: did you mean 'fail'?
#     declared at pipelines/a_misspelt_violation.py:5
