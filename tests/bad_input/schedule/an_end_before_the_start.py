from datetime import date

from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", schedule=Schedule(cron="@daily", start=date(2026, 2, 1), end=date(2026, 1, 1)))
env.from_source(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_end_before_the_start.py: pipeline 'sales' has 1 problem
#   schedule.end: is 2026-01-01, before the start, 2026-02-01
#     declared at pipelines/an_end_before_the_start.py:5
