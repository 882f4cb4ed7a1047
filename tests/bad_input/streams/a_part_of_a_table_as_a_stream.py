from graph_compiler import Delta, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Delta("/lake/orders", since=3, schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_part_of_a_table_as_a_stream.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and has since and schema
#     allowed: on a stream: the rows of all commits, with the columns of the table
#     hint: without unbounded=True it ends, and has that part
#     declared at pipelines/a_part_of_a_table_as_a_stream.py:4
