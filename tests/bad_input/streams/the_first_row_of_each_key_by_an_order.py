from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
marked.deduplicate("id", order_by="at DESC").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/the_first_row_of_each_key_by_an_order.py: pipeline 'sales' has 1 problem
#   Deduplicate: it keeps the first row of a key by at DESC, and a stream may have it later
#     allowed: no order_by: the row that arrives first is kept
#     hint: a batch pipeline of what is new: only_new=True in place of unbounded=True
#     declared at pipelines/the_first_row_of_each_key_by_an_order.py:6
