from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/a")).name("a").task_id("write")
env.from_source(Csv("/in/b"), "b").sink_to(Parquet("/b")).name("b").task_id("write")
# graph-compiler validate says:
# pipelines/two_task_ids_alike.py: pipeline 'sales' has 1 problem
#   b: its task_id is 'write'; 'a', which is in another region, has the same one
#     hint: pin one task_id for each region; `explain` shows which operators share one
#     declared at pipelines/two_task_ids_alike.py:6
