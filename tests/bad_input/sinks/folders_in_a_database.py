from graph_compiler import Csv, Jdbc, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Jdbc("jdbc:x", table="t"), partition_by="day").name("report")
# graph-compiler validate says:
# pipelines/folders_in_a_database.py: pipeline 'sales' has 1 problem
#   report: partition_by is set, but Jdbc writes no files
#     allowed: file formats
#     declared at pipelines/folders_in_a_database.py:5
