from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, Values

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Values([(1, [[2]])], "a INT, b ARRAY<ARRAY<INT>>"), "rows").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/rows_that_hold_a_list_of_lists.py: pipeline 'sales' has 1 problem
#   rows: it holds (2,), a tuple
#     allowed: None, bool, int, float, str, date, datetime, Decimal, lists of these
#     declared at pipelines/rows_that_hold_a_list_of_lists.py:5
