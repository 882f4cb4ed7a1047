from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", schedule=Schedule(cron="@daily", catchup=True))
env.from_source(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/catchup_without_a_start.py: pipeline 'sales' has 1 problem
#   schedule.catchup: there is no start to catch up from
#     hint: also set 'start'
#     declared at pipelines/catchup_without_a_start.py:3
