from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in", schema="d DATE, text STRING", options={"dateFormat": "dd-mm-yyyy"}), "orders")
days = orders.with_columns(at="to_timestamp(text, 'yyyy-MM-dd hh:mm:ss')").name("days")
days.sink_to(Csv("/out/a", options={"timestampFormat": "yyyy-MM-dd HH:MM:ss"})).name("a")
# graph-compiler validate says:
# pipelines/a_pattern_of_minutes_for_months.py: pipeline 'sales' has 3 problems
#   days: in the pattern 'yyyy-MM-dd hh:mm:ss', h and K are hours of a clock with AM and PM, and there is no a for these
#     hint: did you mean 'yyyy-MM-dd HH:mm:ss'?
#     declared at pipelines/a_pattern_of_minutes_for_months.py:5
#   orders: option 'dateFormat': in the pattern 'dd-mm-yyyy', m is the minute, and there is no month
#     hint: did you mean 'dd-MM-yyyy'?
#     declared at pipelines/a_pattern_of_minutes_for_months.py:4
#   a: option 'timestampFormat': in the pattern 'yyyy-MM-dd HH:MM:ss', M after the hour is the month
#     hint: did you mean 'yyyy-MM-dd HH:mm:ss'?
#     declared at pipelines/a_pattern_of_minutes_for_months.py:6
