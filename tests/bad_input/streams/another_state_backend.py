from graph_compiler import Json, Parquet, StreamExecutionEnvironment

config = {"execution.runtime-mode": "AUTOMATIC", "state.backend.type": "memory"}
env = StreamExecutionEnvironment("sales", config=config)
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").aggregate(n="count(*)").sink_to(Parquet("/out"), mode="merge", keys=["id"])
# graph-compiler validate says:
# pipelines/another_state_backend.py: pipeline 'sales' has 1 problem
#   option 'state.backend.type' is 'memory'
#     allowed: hashmap, rocksdb
#     declared at pipelines/another_state_backend.py:4
