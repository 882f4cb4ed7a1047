from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.batch-shuffle-mode": "ALL_EXCHANGES_HYBRID_FULL"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.key_by("a").aggregate(n="count(*)").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/hybrid_exchanges.py: pipeline 'sales' has 1 problem
#   it has hybrid results
#     allowed: AUTO, ALL_EXCHANGES_BLOCKING, ALL_EXCHANGES_PIPELINED
#     declared at pipelines/hybrid_exchanges.py:3
