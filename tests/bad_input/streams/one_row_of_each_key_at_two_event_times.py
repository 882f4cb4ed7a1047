from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/a", schema="id INT, at TIMESTAMP, paid TIMESTAMP"), "orders", unbounded=True).uid("a")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
again = marked.assign_timestamps_and_watermarks("paid", max_out_of_orderness="5 minutes")
again.deduplicate("id").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/one_row_of_each_key_at_two_event_times.py: pipeline 'sales' has 1 problem
#   Deduplicate: the event time of its rows is 'paid' and 'at'
#     allowed: one event time
#     declared at pipelines/one_row_of_each_key_at_two_event_times.py:7
