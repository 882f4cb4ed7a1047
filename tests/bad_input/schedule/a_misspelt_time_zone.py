from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", schedule=Schedule(cron="@daily", timezone="Europe/Wien"))
env.from_source(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_time_zone.py: pipeline 'sales' has 1 problem
#   schedule.timezone: there is no time zone 'Europe/Wien'
#     allowed: a name of the IANA database, such as Europe/Vienna
#     hint: did you mean 'Europe/Vienna'?
#     declared at pipelines/a_misspelt_time_zone.py:3
