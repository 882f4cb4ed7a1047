from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.key_by("a").reduce(amount="summ").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_function_of_reduce.py: pipeline 'sales' has 1 problem
#   after 'orders': reduce was given summ
#     allowed: sum, min, max, first, last, any_value, bool_and and bool_or
#     hint: did you mean 'sum'? aggregate(…) takes any expression
#     declared at pipelines/a_misspelt_function_of_reduce.py:5
