from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"restart-strategy.type": "fixed_delay"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_restart_strategy.py: pipeline 'sales' has 1 problem
#   option 'restart-strategy.type' is 'fixed_delay'
#     allowed: none, fixed-delay, exponential-delay, failure-rate
#     hint: did you mean 'fixed-delay'?
#     declared at pipelines/a_misspelt_restart_strategy.py:3
