from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"restart-strategy.exponential-delay.initial-backoff": "2 min"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/options_that_contradict.py: pipeline 'sales' has 1 problem
#   option 'restart-strategy.exponential-delay.initial-backoff' is 2 min, but 'restart-strategy.exponential-delay.max-backoff' is only 1 min
#     allowed: 'restart-strategy.exponential-delay.initial-backoff' of at most 1 min, or a longer 'restart-strategy.exponential-delay.max-backoff'
#     declared at pipelines/options_that_contradict.py:3
