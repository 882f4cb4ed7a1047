from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"restart-strategy.fixed-delay.delay": "ten seconds"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_bad_duration.py: pipeline 'sales' has 1 problem
#   option 'restart-strategy.fixed-delay.delay' is 'ten seconds'
#     allowed: a whole number and one of d, h, min, m, s, sec, ms, as in '10 s'
#     declared at pipelines/a_bad_duration.py:3
