from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Csv("/in"), "seen").key_by("user").window(TumblingEventTimeWindows("at", "1 h")).aggregate(n="count(*)").name("hourly").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_window_of_no_length.py: pipeline 'sales' has 1 problem
#   hourly: the size of its windows is '1 h'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week; seconds may have a fraction
#     declared at pipelines/a_window_of_no_length.py:5
