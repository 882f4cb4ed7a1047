from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"least": 10})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("amount > :lest").name("paid").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_parameter.py: pipeline 'sales' has 1 problem
#   paid: parameter 'lest' is not declared
#     allowed: least and run_date
#     hint: did you mean 'least'?
#     declared at pipelines/a_misspelt_parameter.py:5
