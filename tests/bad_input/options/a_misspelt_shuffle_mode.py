from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKNG"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_shuffle_mode.py: pipeline 'sales' has 1 problem
#   option 'execution.batch-shuffle-mode' is 'ALL_EXCHANGES_BLOCKNG'
#     allowed: AUTO, ALL_EXCHANGES_BLOCKING, ALL_EXCHANGES_PIPELINED, ALL_EXCHANGES_HYBRID_FULL, ALL_EXCHANGES_HYBRID_SELECTIVE
#     hint: did you mean 'ALL_EXCHANGES_BLOCKING'?
#     declared at pipelines/a_misspelt_shuffle_mode.py:3
