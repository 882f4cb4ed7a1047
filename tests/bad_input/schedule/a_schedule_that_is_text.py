from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", schedule="@daily")
env.from_source(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_schedule_that_is_text.py: pipeline 'sales' has 1 problem
#   schedule: is '@daily'
#     allowed: a Schedule
#     hint: Schedule(cron='@daily')
#     declared at pipelines/a_schedule_that_is_text.py:3
