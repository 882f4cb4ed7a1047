from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
names = env.from_source(Json("/in/names", schema="id INT, name STRING"), "names")
names.join(orders, on="id", how="left").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/all_rows_of_the_side_that_ends.py: pipeline 'sales' has 1 problem
#   Join: its type is left, and the right side never ends
#     allowed: inner; left, semi and anti if the left side never ends
#     hint: a batch pipeline of what is new: only_new=True in place of unbounded=True
#     declared at pipelines/all_rows_of_the_side_that_ends.py:6
