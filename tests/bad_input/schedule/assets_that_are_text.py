from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", schedule=Schedule(assets="/data/orders"))
env.from_source(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/assets_that_are_text.py: pipeline 'sales' has 1 problem
#   schedule.assets: is '/data/orders'
#     allowed: several values, each text
#     declared at pipelines/assets_that_are_text.py:3
