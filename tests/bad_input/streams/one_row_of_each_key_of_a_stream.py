from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.deduplicate("id")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/one_row_of_each_key_of_a_stream.py: pipeline 'sales' has 1 problem
#   Deduplicate: nothing says when it may forget a key
#     hint: before it, with a column of times: .assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
#     declared at pipelines/one_row_of_each_key_of_a_stream.py:5
