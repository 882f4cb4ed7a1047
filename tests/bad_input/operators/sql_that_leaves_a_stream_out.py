from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.sql("SELECT * FROM {orders}", orders=orders, more=orders).name("query").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/sql_that_leaves_a_stream_out.py: pipeline 'sales' has 1 problem
#   query: its query does not read {more}
#     hint: write the name of a stream in braces: FROM {orders}
#     declared at pipelines/sql_that_leaves_a_stream_out.py:5
