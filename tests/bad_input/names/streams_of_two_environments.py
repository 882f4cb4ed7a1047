from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
other = StreamExecutionEnvironment("other").from_source(Csv("/in"), "customers")
orders.join(other, on="id").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/streams_of_two_environments.py: pipeline 'sales' has 1 problem
#   after 'orders': it was given a stream of another environment, 'other'
#     hint: ids are unique within one environment: declare both streams in the same one
#     declared at pipelines/streams_of_two_environments.py:6
