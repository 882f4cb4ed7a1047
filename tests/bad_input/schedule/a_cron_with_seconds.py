from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", schedule=Schedule(cron="0 0 6 * * *"))
env.from_source(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_cron_with_seconds.py: pipeline 'sales' has 1 problem
#   schedule.cron: is '0 0 6 * * *'
#     allowed: five fields, as in '0 6 * * 1-5', or one of @once, @continuous, @hourly, @daily, @weekly, @monthly, @quarterly, @yearly
#     declared at pipelines/a_cron_with_seconds.py:3
