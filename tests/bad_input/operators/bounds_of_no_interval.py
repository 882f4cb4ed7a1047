from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.interval_join(orders, "id", times=("a", "b"), lower="-5", upper="soon").name("near").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/bounds_of_no_interval.py: pipeline 'sales' has 2 problems
#   near: its lower bound is '-5'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/bounds_of_no_interval.py:5
#   near: its upper bound is 'soon'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/bounds_of_no_interval.py:5
