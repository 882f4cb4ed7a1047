from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.key_by("a", "b").grouping_sets(("a",), ("c",)).aggregate(n="count(*)").name("cube").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/grouping_sets_of_other_columns.py: pipeline 'sales' has 1 problem
#   cube: its grouping sets use c, which key_by does not name
#     allowed: sets of a, b
#     declared at pipelines/grouping_sets_of_other_columns.py:5
