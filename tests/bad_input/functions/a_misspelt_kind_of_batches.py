from graph_compiler import Csv, Parquet, StreamExecutionEnvironment


def clean(batches):
    return batches


env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.map_partitions(clean, "a INT", batches="panda").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_kind_of_batches.py: pipeline 'sales' has 1 problem
#   after 'orders': there are no batches of type 'panda'
#     allowed: pandas and arrow
#     hint: did you mean 'pandas'?
#     declared at pipelines/a_misspelt_kind_of_batches.py:10
