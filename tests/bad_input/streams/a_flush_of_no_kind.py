from graph_compiler import Json, Parquet, StreamExecutionEnvironment

config = {"execution.runtime-mode": "AUTOMATIC", "execution.flush": "always"}
env = StreamExecutionEnvironment("sales", config=config)
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_flush_of_no_kind.py: pipeline 'sales' has 1 problem
#   option 'execution.flush' is 'always'
#     allowed: NONE, DATA_INTERVAL_END, END
#     declared at pipelines/a_flush_of_no_kind.py:4
