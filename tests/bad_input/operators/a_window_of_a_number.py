from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.window_all(TumblingEventTimeWindows("at", 60)).aggregate(n="count(*)").name("hourly").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_window_of_a_number.py: pipeline 'sales' has 1 problem
#   hourly: size is 60
#     allowed: a length, as '10 minutes'
#     declared at pipelines/a_window_of_a_number.py:5
