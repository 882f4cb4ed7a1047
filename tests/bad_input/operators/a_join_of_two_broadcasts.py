from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv", schema="id INT"), "orders")
customers = env.from_source(Csv("/in/customers.csv", schema="id INT"), "customers")
orders.broadcast().join(customers.broadcast(), on="id").name("named").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_join_of_two_broadcasts.py: pipeline 'sales' has 1 problem
#   named: all its inputs are broadcast
#     allowed: broadcast() of one side of a join, or of an input of a function or query of several streams
#     hint: leave out one broadcast(): Flink would repeat each result in every subtask
#     declared at pipelines/a_join_of_two_broadcasts.py:6
