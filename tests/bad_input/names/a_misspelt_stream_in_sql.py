from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.sql("SELECT * FROM {order}", orders=orders).name("query").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_stream_in_sql.py: pipeline 'sales' has 1 problem
#   query: its query reads {order}; its inputs are {orders}
#     hint: did you mean 'orders'?
#     declared at pipelines/a_misspelt_stream_in_sql.py:5
