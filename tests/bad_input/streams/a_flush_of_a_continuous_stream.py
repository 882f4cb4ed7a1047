from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

config = {
    "execution.runtime-mode": "STREAMING",
    "execution.continuous": "true",
    "execution.flush": "DATA_INTERVAL_END",
}
env = StreamExecutionEnvironment("sales", config=config)
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 minute")
hours = marked.key_by("id").window(TumblingEventTimeWindows("at", "1 hour")).aggregate(n="count(*)")
hours.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_flush_of_a_continuous_stream.py: pipeline 'sales' has 1 problem
#   option 'execution.flush' is DATA_INTERVAL_END, and 'execution.continuous' is set
#     allowed: one of the two
#     hint: a flush at the end of a run would make rows late that arrive behind it
#     declared at pipelines/a_flush_of_a_continuous_stream.py:8
