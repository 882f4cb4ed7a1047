from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, Values

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Values([(1, 2), (3,)], "a INT, b INT"), "rows").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/rows_of_unequal_length.py: pipeline 'sales' has 1 problem
#   rows: its rows have different lengths: 1 and 2 cells
#     allowed: rows of equal length
#     declared at pipelines/rows_of_unequal_length.py:5
