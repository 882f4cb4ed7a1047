from datetime import timedelta

from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", schedule=Schedule(cron="@daily", every=timedelta(hours=1)))
env.from_source(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_cron_and_an_interval.py: pipeline 'sales' has 1 problem
#   schedule.every: there are cron and every
#     allowed: one of them
#     declared at pipelines/a_cron_and_an_interval.py:5
