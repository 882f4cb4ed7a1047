from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", schedule=Schedule(cron="@dayly"))
env.from_source(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_cron_that_is_misspelt.py: pipeline 'sales' has 1 problem
#   schedule.cron: is '@dayly'
#     allowed: @once, @continuous, @hourly, @daily, @weekly, @monthly, @quarterly, @yearly
#     hint: did you mean '@daily'?
#     declared at pipelines/a_cron_that_is_misspelt.py:3
