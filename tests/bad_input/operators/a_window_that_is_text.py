from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.key_by("user").window("1 hour").aggregate(n="count(*)").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_window_that_is_text.py: pipeline 'sales' has 1 problem
#   after 'orders': window was given window='1 hour'
#     allowed: TumblingEventTimeWindows("at", "1 hour") and the like
#     declared at pipelines/a_window_that_is_text.py:5
