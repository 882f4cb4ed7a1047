from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, Values

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Values([1, 2], "a INT"), "rows").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/rows_that_are_no_rows.py: pipeline 'sales' has 1 problem
#   rows: its rows are (1, 2)
#     allowed: a list of rows
#     declared at pipelines/rows_that_are_no_rows.py:5
