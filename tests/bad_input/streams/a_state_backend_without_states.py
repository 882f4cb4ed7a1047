from graph_compiler import Json, Parquet, StreamExecutionEnvironment

config = {"execution.runtime-mode": "AUTOMATIC", "state.backend.type": "rocksdb"}
env = StreamExecutionEnvironment("sales", config=config)
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_state_backend_without_states.py: pipeline 'sales' has 1 problem
#   option 'state.backend.type' is rocksdb, and no operator keeps state on a stream
#     allowed: an unbounded source, with totals, windows or other state behind it
#     hint: leave it out: what is staged for retries is in the staging root
#     declared at pipelines/a_state_backend_without_states.py:4
