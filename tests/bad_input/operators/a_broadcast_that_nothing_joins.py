from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv", schema="id INT"), "orders")
orders.broadcast().filter("id > 1").name("large").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_broadcast_that_nothing_joins.py: pipeline 'sales' has 1 problem
#   large: it reads broadcast rows, but no rows to join them with
#     allowed: broadcast() of one side of a join, or of an input of a function or query of several streams
#     hint: leave out broadcast(): Flink would repeat each row in every subtask; to repeat rows on purpose, join them with how='cross'
#     declared at pipelines/a_broadcast_that_nothing_joins.py:5
