from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("amount > 0", reject="small").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_argument.py: pipeline 'sales' has 1 problem
#   after 'orders': filter has no parameter 'reject'
#     allowed: filter(condition, rejects=None)
#     hint: did you mean 'rejects'?
#     declared at pipelines/a_misspelt_argument.py:5
